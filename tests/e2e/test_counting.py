"""Steps of known libraries, and what else is counted, without a word in the script."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections import Counter

import pytest

from rlprof.pace.steps import count_steps
from rlprof.profile.build import build_profile
from tests.live_processes import Result


def counted(result: Result, name: str) -> list[float]:
    """What each process counted under ``name``, in order of their ids; those that did not left out."""
    sums: Counter[int] = Counter()
    for counter in result.recording.counters:
        if counter.name == name:
            sums[counter.process] += counter.value
    return [sums[process] for process in sorted(sums)]


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        importlib.util.find_spec(package) is None,
        reason=f"{package} is missing (pip install {package})",
    )


NOISY_STEPS = """
import warnings
from gymnasium.core import Env

class Maze(Env):
    def step(self, action):
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        warnings.warn("slow", stacklevel=2)
        if action == 2:
            raise ValueError("no such action")

maze = Maze()
for action in range(3):
    maze.step(action)
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="docs/reliability.md, Limits")
def test_warnings_and_errors_of_counted_steps_are_told_as_without_counting(
    write, rlprof_run, bare_run
):
    for name, text in STAND_INS.items():
        (write("").parent / name).parent.mkdir(parents=True, exist_ok=True)
        write(text, name)
    script = write(NOISY_STEPS)

    bare, recorded = bare_run(script), rlprof_run(script)

    assert (recorded.code, recorded.err) == (bare.returncode, bare.stderr.decode())
    assert "DeprecationWarning: old" in recorded.err
    assert sum(counted(recorded, "steps:gymnasium.env")) == 3


CALLERS = """
import logging, os, subprocess, sys, traceback

class Intercepting(logging.Handler):
    def emit(self, record):
        frame, depth = sys._getframe(), 0
        while frame and (depth == 0 or frame.f_code.co_filename == logging.__file__):
            frame, depth = frame.f_back, depth + 1
        print(frame.f_code.co_name, frame.f_lineno, depth, sys._getframe(6).f_code.co_name)

def update():
    logging.getLogger().warning("slow")
    logging.getLogger().warning("loss %d", "nan")

logging.basicConfig(handlers=[Intercepting(), logging.StreamHandler()])
update()
for start in (os.system, lambda it: os.posix_spawn(it, [], {}), lambda it: subprocess.run([it])):
    try:
        start("a\\0b")
    except ValueError:
        traceback.print_exc()
"""


def test_who_looks_for_the_caller_of_logging_and_of_starts_finds_it(write, rlprof_run, each_python):
    script = write(CALLERS)

    bare = subprocess.run(
        [each_python, script], capture_output=True, cwd=script.parent, timeout=60, check=True
    )
    recorded = rlprof_run(script, options=["--python", each_python, "--torch", "off"])

    assert (recorded.code, recorded.out) == (0, bare.stdout)
    assert recorded.err == bare.stderr.decode()
    assert counted(recorded, "log_records") == [2]
    assert counted(recorded, "process_starts") == [3]


# Stand-ins of the same shape: the mechanism, on every Python.

STAND_INS = {
    "gymnasium/__init__.py": "from gymnasium.core import Env",
    "gymnasium/core.py": """
class Env:
    unwrapped = property(lambda self: self)
    def step(self, action): raise NotImplementedError
class Wrapper(Env):
    def __init__(self, env): self.env = env
    unwrapped = property(lambda self: self.env.unwrapped)
    def step(self, action): return self.env.step(action)
""",
    "stable_baselines3/__init__.py": "",
    "stable_baselines3/common/__init__.py": "",
    "stable_baselines3/common/vec_env/__init__.py": "",
    "stable_baselines3/common/vec_env/base_vec_env.py": """
class VecEnv:
    def step(self, actions):
        self.step_async(actions)
        return self.step_wait()
""",
}

TRAIN = """
import logging, multiprocessing as mp, os, sys
import gymnasium
from gymnasium.core import Wrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnv
import rlprof

class Maze(gymnasium.Env):
    def step(self, action):
        return action, 0.0, False, False, {}

def work(connection, env):
    while True:
        action = connection.recv()
        if action is None:
            return
        connection.send(env.step(action))

class Workers(VecEnv):
    def __init__(self, method, num_envs):
        self.num_envs = num_envs
        context = mp.get_context(method)
        pairs = [context.Pipe() for _ in range(num_envs)]
        self.ends = [ours for ours, _ in pairs]
        self.processes = [
            context.Process(target=work, args=(theirs, Wrapper(Maze()))) for _, theirs in pairs
        ]
        for process in self.processes:
            process.start()
    def step_async(self, actions):
        for end, action in zip(self.ends, actions):
            end.send(action)
    def step_wait(self):
        return [end.recv() for end in self.ends]
    def close(self):
        for end, process in zip(self.ends, self.processes):
            end.send(None)
            process.join()

@rlprof.phase("learn")
def learn():
    logging.getLogger("train").warning("learned")

if __name__ == "__main__":
    logging.basicConfig(level="WARNING", handlers=[logging.NullHandler()])
    Wrapper(Maze()).step(0)
    envs = Workers(sys.argv[1], 2)
    for step in range(50):
        with rlprof.phase("rollout"):
            envs.step([step, step])
    for _ in range(3):
        learn()
    envs.close()
"""


@pytest.fixture
def stand_ins(write, tmp_path):
    for name, text in STAND_INS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(text, name=name)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.usefixtures("stand_ins")
def test_a_vector_env_counts_for_its_workers(write, rlprof_run, method):
    result = rlprof_run(write(TRAIN), method)

    assert result.code == 0, result.err
    assert counted(result, "steps:sb3.vec") == [100]
    assert counted(result, "steps:gymnasium.env") == [1, 50, 50]
    steps = count_steps(result.recording)
    assert (steps.source, steps.total) == ("Stable-Baselines3 vector env", 100)
    assert counted(result, "log_records") == [3]
    assert counted(result, "ipc_messages") == [102, 50, 50]
    assert counted(result, "phase:rollout:entered") == [50]
    assert counted(result, "phase:learn:entered") == [3]
    (wall_ns,), (cpu_ns,) = (
        counted(result, f"phase:rollout:{clock}_ns") for clock in ("wall", "cpu")
    )
    assert 0 < cpu_ns < wall_ns < 10e9


@pytest.mark.usefixtures("stand_ins")
def test_every_python_counts_alike(write, rlprof_run, other_python):
    result = rlprof_run(write(TRAIN), "fork", options=["--python", other_python])

    assert result.code == 0, result.err
    assert counted(result, "steps:sb3.vec") == [100]
    assert counted(result, "steps:gymnasium.env") == [1, 50, 50]
    assert counted(result, "ipc_messages") == [102, 50, 50]
    assert counted(result, "log_records") == [3]


@pytest.mark.usefixtures("stand_ins")
def test_what_counts_is_in_no_stack(write, rlprof_run):
    script = write(
        """
        import time
        from gymnasium.core import Env, Wrapper

        class Maze(Env):
            def step(self, action):
                return sum(range(2000))

        def rollout(env):
            end = time.monotonic() + 1.2
            while time.monotonic() < end:
                env.step(0)

        rollout(Wrapper(Wrapper(Maze())))
        """
    )

    recording = rlprof_run(script).recording

    assert not {n.frame.file for n in recording.nodes if "rlprof_agent" in n.frame.file}
    stacks = {callers(recording, node.id) for node in recording.nodes}
    assert ("step", "step", "step", "rollout", "<module>") in stacks


def callers(recording, node: int) -> tuple[str, ...]:
    names = []
    while node != -1:
        names.append(recording.nodes[node].frame.function.rpartition(".")[2])
        node = recording.nodes[node].parent
    return tuple(names)


# --steps-from


CUSTOM = """
class Maze:
    num_envs = 8
    def step(self, action):
        return action
"""


def test_the_target_of_steps_from_is_counted(write, rlprof_run, tmp_path):
    (tmp_path / "envs").mkdir()
    write(CUSTOM, name="envs/maze.py")
    script = write(
        """
        from envs.maze import Maze
        maze = Maze()
        for _ in range(100):
            maze.step(1)
        """
    )

    result = rlprof_run(script, options=["--steps-from", "envs.maze:Maze.step"])

    assert counted(result, "steps:custom") == [800]
    assert count_steps(result.recording).source == "--steps-from"
    assert "steps-from-not-counted" not in result.note_slugs


@pytest.mark.parametrize("target", ["train:Maze.step", "json:no_such_function"])
def test_a_target_that_is_not_there_is_said(write, rlprof_run, target):
    result = rlprof_run(write("import json"), options=["--steps-from", target])

    assert result.code == 0
    assert "steps-from-not-counted" in result.note_slugs


def test_a_target_that_cannot_be_meant_is_refused(write, rlprof_run):
    result = rlprof_run(write("print('ran')"), options=["--steps-from", "Maze.step"])

    assert (result.code, result.out) == (2, b"")
    assert "bad-steps-from" in result.err


# The libraries themselves, where they are installed.


@needs("gymnasium")
@pytest.mark.parametrize(
    ("make", "total", "source"),
    [
        ("gym.vector.AsyncVectorEnv([make] * 2)", 200, "gymnasium vector env"),
        ("RecordStatistics(gym.vector.SyncVectorEnv([make] * 4))", 400, "gymnasium vector env"),
        ("make()", 100, "gymnasium env"),
        ("Maze()", 100, "gymnasium env"),
    ],
)
def test_gymnasium(write, rlprof_run, make, total, source):
    script = write(
        f"""
        import gymnasium as gym
        from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordStatistics

        class Maze(gym.Env):
            observation_space = action_space = gym.spaces.Discrete(4)
            def reset(self, *, seed=None, options=None):
                return 0, {{}}
            def step(self, action):
                return 0, 0.0, False, False, {{}}

        def make():
            return gym.make("CartPole-v1", max_episode_steps=10**6)

        if __name__ == "__main__":
            envs = {make}
            envs.reset(seed=0)
            for _ in range(100):
                _, _, terminated, _, _ = envs.step(envs.action_space.sample())
                if terminated is True:
                    envs.reset()
            envs.close()
        """
    )

    result = rlprof_run(script)

    assert result.code == 0, result.err
    steps = count_steps(result.recording)
    assert (steps.source, steps.total) == (source, total)


@needs("gymnasium")
def test_a_vector_environment_of_evaluations_hides_no_step_of_the_training(write, rlprof_run):
    script = write(
        """
        import gymnasium as gym

        class Maze(gym.Env):
            observation_space = action_space = gym.spaces.Discrete(4)
            def reset(self, *, seed=None, options=None):
                return 0, {}
            def step(self, action):
                sum(range(15_000))
                return 0, 0.0, False, False, {}

        env = Maze()
        evaluated = gym.vector.SyncVectorEnv([Maze] * 4)
        evaluated.reset()
        for _ in range(10):
            for _ in range(1000):
                env.step(0)
            for _ in range(10):
                evaluated.step([0] * 4)
        """
    )

    result = rlprof_run(script)

    assert result.code == 0, result.err
    assert counted(result, "steps:gymnasium.vector") == [400]
    steps = count_steps(result.recording)
    assert steps.source == "gymnasium env"
    # Where the way of stepping changes, calls of some ms are taken for those before.
    assert steps.total == pytest.approx(10_000, rel=0.1)


@needs("stable_baselines3")
@pytest.mark.parametrize("kind", ["DummyVecEnv", "SubprocVecEnv"])
def test_stable_baselines3(write, rlprof_run, kind):
    script = write(
        f"""
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.vec_env import {kind}

        if __name__ == "__main__":
            envs = make_vec_env("CartPole-v1", n_envs=2, vec_env_cls={kind})
            PPO("MlpPolicy", envs, n_steps=64, device="cpu").learn(256)
        """
    )

    result = rlprof_run(script)

    assert result.code == 0, result.err
    assert count_steps(result.recording).source == "Stable-Baselines3 vector env"
    assert counted(result, "steps:sb3.vec") == [256]
    assert counted(result, "updates") == [40]


@needs("torchrl")
@pytest.mark.parametrize(
    ("make", "source"),
    [
        ("Collector(make, None, frames_per_batch=50, total_frames=200)", "TorchRL env"),
        ("Collector(ParallelEnv(2, make), None, frames_per_batch=50, total_frames=200)",
         "TorchRL batched env"),
        ("MultiSyncCollector([make] * 2, None, frames_per_batch=50, total_frames=200)",
         "TorchRL env"),
    ],
    ids=["env", "parallel", "collectors"],
)  # fmt: skip
def test_torchrl(write, rlprof_run, make, source):
    script = write(
        f"""
        from torchrl.collectors import Collector, MultiSyncCollector
        from torchrl.envs import GymEnv, ParallelEnv, StepCounter, TransformedEnv

        def make():
            return TransformedEnv(GymEnv("CartPole-v1"), StepCounter())

        if __name__ == "__main__":
            collector = {make}
            assert sum(batch.numel() for batch in collector) == 200
            collector.shutdown()
        """
    )

    result = rlprof_run(script)

    assert result.code == 0, result.err
    steps = count_steps(result.recording)
    assert (steps.source, steps.total) == (source, 200)


@needs("torch")
def test_torch(write, rlprof_run):
    script = write(
        """
        import torch
        from torch.utils.data import DataLoader

        weights = torch.nn.Parameter(torch.zeros(4))
        optimizer = torch.optim.Adam([weights])
        for batch in DataLoader(torch.arange(80.0).reshape(20, 4), batch_size=2):
            optimizer.zero_grad()
            (weights * batch).sum().backward()
            optimizer.step()
        """
    )

    result = rlprof_run(script)

    assert result.code == 0, result.err
    assert counted(result, "batches") == [10]
    assert counted(result, "updates") == [10]
    assert build_profile(result.recording).throughput.unit == "updates"


def test_workers_of_an_asynchronous_environment_leave_counting_to_it(write, rlprof_run):
    pytest.importorskip("gymnasium", reason="gymnasium is missing (make test installs it)")
    program = """
        import gymnasium, numpy

        envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
        envs.reset(seed=0)
        for _ in range(50):
            envs.step(numpy.zeros(2, int))
        envs.close()
    """

    result = rlprof_run(write(textwrap.dedent(program)))

    assert result.code == 0, result.err
    assert counted(result, "steps:gymnasium.vector") == [100]
    assert counted(result, "steps:gymnasium.env") == []


@pytest.mark.parametrize(
    "steps",
    [
        "env, end = Env(), time.monotonic() + 2\nwhile time.monotonic() < end:\n    env.step(0)",
        "for _ in range(100):\n    Env().step(0)",
    ],
    ids=["many steps", "many environments"],
)
def test_what_a_script_holds_dies_with_it(steps, write, rlprof_run):
    """A function or a class of its own that counting held would hold all of the script's names, until nothing is collected any more."""
    pytest.importorskip("gymnasium", reason="gymnasium is missing (make test installs it)")
    program = """
        import time
        import gymnasium

        class Env(gymnasium.Env):
            def step(self, action):
                return 0.0, float(sum(range(30))), False, False, {}

        class Log:
            def __del__(self):
                print("closed")

        log = Log()
    """

    result = rlprof_run(write(f"{textwrap.dedent(program)}\n{steps}\n"))

    assert result.code == 0, result.err
    assert result.out == b"closed\n"


def test_steps_that_a_worker_is_told_to_make_by_itself_are_counted_there(write, rlprof_run):
    pytest.importorskip("gymnasium", reason="gymnasium is missing (make test installs it)")
    program = """
        import gymnasium
        from gymnasium.vector import AsyncVectorEnv

        class Playing(gymnasium.Wrapper):
            def play(self):
                self.env.reset(seed=0)
                for action in [0, 1] * 5:
                    self.env.step(action)

        envs = AsyncVectorEnv([lambda: Playing(gymnasium.make("CartPole-v1"))] * 2)
        envs.call("play")
        envs.close()
    """

    result = rlprof_run(write(textwrap.dedent(program)))

    assert result.code == 0, result.err
    assert counted(result, "steps:gymnasium.env") == [10, 10]


def test_a_count_that_swings_beyond_64_bits_ends_no_recording(write, rlprof_run):
    script = write(
        """\
        import time, rlprof

        def work():
            end = time.monotonic() + 0.7
            while time.monotonic() < end:
                sum(range(1000))

        rlprof.step(-2**62); rlprof.step(-2**62)
        work()
        rlprof.step(2**62); rlprof.step(2**62); rlprof.step(2**62)
        work()
        rlprof.step(5)
        """
    )
    result = rlprof_run(script)

    assert "recorder-bug" not in result.err
    assert counted(result, "steps") == [5]


@pytest.mark.parametrize("begins", ["before", "after"])
def test_a_thread_steps_while_the_main_thread_waits(write, rlprof_run, begins):
    """It has stepped before, and no stack of it is taken any more that would tell of a turn."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install gymnasium")
    script = write(
        f"""
        import sys, threading, time
        import gymnasium

        class Env(gymnasium.Env):
            def step(self, action):
                sum(range(5000))
                return 0, 0.0, False, False, {{}}

        def train(seconds):
            env, made, end = gymnasium.Wrapper(Env()), 0, time.monotonic() + seconds
            while time.monotonic() < end:
                env.step(0)
                made += 1
            print(made)

        def wait_and_train():
            may_begin.wait()
            train(1.5)

        may_begin, thread = threading.Event(), threading.Thread(target=wait_and_train)
        if "{begins}" == "before":
            thread.start()
        train(1.5)
        if "{begins}" == "after":
            thread.start()
        may_begin.set()
        thread.join()
        """
    )

    result = rlprof_run(script)

    made = sum(int(line) for line in result.out.split())
    (counts,) = counted(result, "steps:gymnasium.env")
    assert abs(made - counts) < 100, "but for what was made where threads change"
