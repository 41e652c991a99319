"""Treatments that are applied where a run starts: classes of libraries that stand for others after their import."""

from __future__ import annotations

import os
import sys
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
    there = SimpleNamespace(SerialEnv=object(), ParallelEnv=object())

    module = changed(there, "torchrl.envs.batched_envs")

    assert module.ParallelEnv is there.SerialEnv


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
