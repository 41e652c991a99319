"""Treatments that are applied where a run starts: classes of libraries that stand for others after their import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent.treatments import restarts

IN_PROCESS = restarts.watched("environments-in-process")


def changed(module: Any, name: str) -> Any:
    """A module with the names of ``module``, changed as after its import; the real one stays as it is."""
    copy = ModuleType(name)
    vars(copy).update(vars(module))
    IN_PROCESS[name](copy)
    return copy


def test_a_treatment_that_is_not_known_changes_nothing():
    assert restarts.watched("of-a-later-version") == {}
    assert restarts.watched("") == {}


# gymnasium


@pytest.fixture
def gymnasium() -> Any:
    return pytest.importorskip("gymnasium")


@pytest.fixture
def vector(gymnasium) -> Any:
    return changed(gymnasium.vector, "gymnasium.vector")


@pytest.fixture
def make(gymnasium):
    """An environment that tells in which process it is stepped."""

    class Told(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 2.0**31, (1,), dtype="float64")
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed, options=options)
            return self._told(), {}

        def step(self, action):
            return self._told(), float(action), False, False, {}

        def _told(self):
            import numpy as np

            return np.array([os.getpid()], dtype="float64")

    return Told


def test_environments_of_gymnasium_step_in_this_process(vector, make):
    envs = vector.AsyncVectorEnv([make] * 3)

    observations, _ = envs.reset(seed=1)
    stepped, rewards, *_ = envs.step([0, 1, 1])
    envs.close()

    assert observations.tolist() == stepped.tolist() == [[os.getpid()]] * 3
    assert rewards.tolist() == [0, 1, 1]
    assert envs.num_envs == 3


def test_in_its_own_class_each_has_a_process(gymnasium, make):
    """So that the test before would see where it changes nothing."""
    envs = gymnasium.vector.AsyncVectorEnv([make] * 2, context="fork")
    observations, _ = envs.reset(seed=1)
    envs.close()

    assert os.getpid() not in observations


@pytest.mark.parametrize(
    "options",
    [
        {"shared_memory": False, "context": "spawn", "daemon": True, "worker": None},
        {"copy": False, "observation_mode": "same"},
    ],
)
def test_options_of_workers_are_left_out(options, vector, make):
    envs = vector.AsyncVectorEnv([make], **options)

    assert envs.reset()[0].tolist() == [[os.getpid()]]
    assert envs.copy is options.get("copy", True)
    envs.close()


def test_options_by_position_are_those_of_its_own_class(vector, make):
    envs = vector.AsyncVectorEnv([make], False, False, None, True)

    assert envs.copy is False
    envs.close()


def test_it_passes_for_what_it_stands_for(vector, make):
    envs = vector.AsyncVectorEnv([make])

    assert type(envs).__name__ == "AsyncVectorEnv"
    assert isinstance(envs, vector.SyncVectorEnv)
    envs.close()


# Stable-Baselines3 and TorchRL


def test_environments_of_stable_baselines3_step_in_this_process(make):
    vec_env = pytest.importorskip(
        "stable_baselines3.common.vec_env", reason="Stable-Baselines3 is not installed"
    )

    envs = changed(vec_env, "stable_baselines3.common.vec_env").SubprocVecEnv([make] * 2, "spawn")

    assert envs.reset().tolist() == [[os.getpid()]] * 2
    envs.close()


def test_what_stands_for_a_class_of_stable_baselines3_takes_its_arguments():
    """Without the library: as its classes are called."""

    class DummyVecEnv:
        def __init__(self, env_fns: Any) -> None:
            self.envs = [make() for make in env_fns]

    there = SimpleNamespace(DummyVecEnv=DummyVecEnv, SubprocVecEnv=None)
    module = changed(there, "stable_baselines3.common.vec_env")

    for options in ((), ("spawn",)):
        assert module.SubprocVecEnv([list, dict], *options).envs == [[], {}]
    assert module.SubprocVecEnv([list], start_method="fork").envs == [[]]


def test_what_stands_for_a_class_of_torchrl_is_its_serial_one():
    """Without the library: as its classes are called."""

    class SerialEnv:
        def __init__(self, num_workers: int, create_env_fn: Any, *, device: str = "") -> None:
            self.made = num_workers, create_env_fn, device

    module = changed(SimpleNamespace(SerialEnv=SerialEnv), "torchrl.envs.batched_envs")

    envs = module.ParallelEnv(3, "make", device="cpu")

    assert isinstance(envs, SerialEnv)
    assert envs.made == (3, "make", "cpu")


# torch


@pytest.fixture
def optim(monkeypatch) -> Any:
    torch = pytest.importorskip("torch")
    module = sys.modules["torch.optim.optimizer"]
    monkeypatch.setattr(module.Optimizer, "add_param_group", module.Optimizer.add_param_group)
    restarts.watched("fused-optimizers")["torch.optim.optimizer"](module)
    return torch


@pytest.mark.parametrize(
    ("options", "fused"),
    [
        ({}, True),
        ({"fused": False}, False),
        ({"foreach": True}, None),
        ({"differentiable": True}, None),
    ],
)
def test_optimizers_are_fused_as_they_are_made_where_nothing_else_is_said(options, fused, optim):
    weight = optim.nn.Parameter(optim.ones(2))

    assert optim.optim.Adam([weight], **options).param_groups[0]["fused"] is fused


def test_what_has_no_such_option_is_left_alone(optim):
    weight = optim.nn.Parameter(optim.ones(2))

    assert "fused" not in optim.optim.LBFGS([weight]).param_groups[0]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_a_fused_training_comes_to_the_same_but_for_the_last_digits(name, optim):
    ends = []
    for options in ({}, {"fused": False}):
        weight = optim.nn.Parameter(optim.linspace(-1.0, 1.0, 8))
        optimizer = getattr(optim.optim, name)([weight], lr=0.05, **options)
        assert optimizer.param_groups[0]["fused"] is (not options)
        for _ in range(10):
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
        ends.append(weight.detach())

    optim.testing.assert_close(*ends)


@pytest.fixture
def loading(monkeypatch) -> Any:
    torch = pytest.importorskip("torch")
    module = sys.modules["torch.utils.data.dataloader"]
    monkeypatch.setattr(module.DataLoader, "__init__", module.DataLoader.__init__)
    restarts.watched("loaders-with-workers")["torch.utils.data.dataloader"](module)
    return torch.utils.data


@pytest.fixture
def told(monkeypatch, tmp_path) -> Path:
    """The file that is there once something was treated."""
    file = tmp_path / "told"
    monkeypatch.setenv("RLPROF_RESTART_TOLD", str(file))
    return file


CORES = min(4, len(os.sched_getaffinity(0)))


@pytest.mark.parametrize(
    ("given", "options", "workers"),
    [
        ((), {"batch_size": 2}, CORES),
        ((2, True), {"num_workers": 0}, CORES),
        ((), {"num_workers": 1}, 1),
        ((2, False, None, None, 0), {}, 0),
    ],
)
def test_a_loader_without_workers_gets_some(given, options, workers, loading, told):
    loader = loading.DataLoader([1, 2, 3], *given, **options)

    assert loader.num_workers == workers
    assert told.exists() == (workers == CORES)


def test_a_stream_is_not_read_by_several(loading, told):
    class Stream(loading.IterableDataset):
        def __iter__(self):
            return iter([1, 2])

    assert loading.DataLoader(dataset=Stream()).num_workers == 0
    assert not told.exists()


# The standard library

TREATED = """
import concurrent.futures.process, multiprocessing.context, multiprocessing.forkserver, multiprocessing.pool, os, sys
import numpy
sys.path.insert(0, sys.argv[1])
from rlprof_agent.treatments import restarts
for name, change in restarts.watched("kept-workers").items():
    change(sys.modules[name])

def who(task):
    return os.getpid(), task

def nothing():
    pass
"""

SPAWNS = """
def parent(queue):
    queue.put(os.getppid())

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=parent, args=(queue,))
    process.start()
    its_parent = queue.get(timeout=60)
    process.join(60)
    server = multiprocessing.forkserver._forkserver
    print(its_parent == server._forkserver_pid != os.getpid(), "numpy" in server._preload_modules)
"""

POOLS = """
def rounds(make):
    workers, tasks = set(), []
    for number in range(4):
        with make() as pool:
            for worker, task in pool.map(who, range(6)):
                workers.add(worker)
                tasks.append(task)
    return len(workers) <= 2, tasks == [*range(6)] * 4

fork = multiprocessing.get_context("fork")
print(*rounds(lambda: fork.Pool(2)))
print(*rounds(lambda: concurrent.futures.process.ProcessPoolExecutor(2, mp_context=fork)))
# Two at once are two, also where the first was forgotten and the second is still at work.
first, second = fork.Pool(1), fork.Pool(1)
print(first.apply(who, (0,)) != second.apply(who, (0,)))
first.close()
third = fork.Pool(1)
del first
fourth = fork.Pool(1)
print(third.apply(who, (0,)) != fourth.apply(who, (0,)))
third.terminate(), third.join()
# Whoever sets up his own gets his own.
workers = set()
for _ in range(3):
    with fork.Pool(1, initializer=nothing) as pool:
        workers.add(pool.apply(who, (0,)))
print(len(workers))
own = concurrent.futures.process.ProcessPoolExecutor(1, fork, initializer=print, initargs=(["set up"],))
own.submit(nothing).result()
own.shutdown()
# Whoever shuts one down twice gives one back.
executor = concurrent.futures.process.ProcessPoolExecutor(1, fork)
executor.shutdown()
executor.shutdown()
print(concurrent.futures.process.ProcessPoolExecutor(1, fork) is not concurrent.futures.process.ProcessPoolExecutor(1, fork))
"""


@pytest.fixture
def run_treated(tmp_path, told):
    """Run a program of which the treatment is applied in its first lines; returns what it prints."""

    def run(program: str) -> str:
        (tmp_path / "train.py").write_text(TREATED + program)
        agent = Path(restarts.__file__).parents[2]
        done = subprocess.run(
            [sys.executable, tmp_path / "train.py", agent],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_spawned_processes_come_from_a_server_that_has_imported_their_packages(run_treated, told):
    pytest.importorskip("numpy")

    assert run_treated(SPAWNS) == "True True\n"
    assert told.exists()


def test_pools_are_kept_from_one_round_to_the_next(run_treated, told):
    pytest.importorskip("numpy")

    assert run_treated(POOLS).splitlines() == [
        *("True True", "True True", "True", "True", "3"),
        "['set up']",
        "True",
    ]
    assert told.exists()


def test_where_no_pool_comes_twice_nothing_was_treated(run_treated, told):
    pytest.importorskip("numpy")

    run_treated("multiprocessing.get_context('fork').Pool(1).close()")

    assert not told.exists()
