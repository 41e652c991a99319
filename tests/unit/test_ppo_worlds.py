"""The grid world of ``examples/ppo`` is one and the same in plain Python, in numpy and in torch."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "ppo"
ENVS = 64


@pytest.fixture(autouse=True)
def _example(monkeypatch) -> None:
    pytest.importorskip("numpy", exc_type=ImportError)
    pytest.importorskip("torch", exc_type=ImportError)
    monkeypatch.syspath_prepend(str(EXAMPLE))


@pytest.fixture
def worlds(monkeypatch):
    """The three, without wind and slippery floor, with everybody in the same places."""
    import grid_arrays
    import grid_tensors
    import gridworld
    import numpy as np
    import torch

    for module in (gridworld, grid_arrays, grid_tensors):
        monkeypatch.setattr(module, "SLIP", 0.0)
        monkeypatch.setattr(module, "WIND", (0.0,) * gridworld.SIZE)
    envs = [gridworld.GridWorld(seed) for seed in range(ENVS)]
    arrays = grid_arrays.GridArrays(ENVS, seed=0)
    tensors = grid_tensors.GridTensors(ENVS, 0, torch.device("cpu"))
    arrays.place = np.array([(env.row, env.column) for env in envs])
    arrays.goal = np.array([(env.goal_row, env.goal_column) for env in envs])
    arrays.distance = np.array([env.distance for env in envs])
    for name in ("place", "goal", "distance"):
        setattr(tensors, name, torch.from_numpy(getattr(arrays, name).copy()))
    return envs, arrays, tensors


def test_all_show_and_pay_the_same_for_the_same_moves(worlds):
    import numpy as np
    import torch
    from gridworld import ACTIONS, MAX_STEPS, observe

    envs, arrays, tensors = worlds
    first = np.ones(ENVS, bool)
    """Whose first episode goes on: after it they begin in different places."""
    draw = random.Random(0)
    arrivals = 0
    for _ in range(MAX_STEPS):
        seen = observe(envs)[first]
        assert (arrays.observe()[first] == seen).all()
        assert (tensors.observe().numpy()[first] == seen).all()
        actions = np.array([draw.randrange(ACTIONS) for _ in envs])

        results = np.array(
            [env.step(int(action)) for env, action in zip(envs, actions, strict=True)]
        )
        by_arrays = np.stack(arrays.step(actions), axis=1)
        by_tensors = torch.stack(tensors.step(torch.from_numpy(actions)), dim=1)

        assert by_arrays[first] == pytest.approx(results[first], abs=1e-6)
        assert by_tensors.numpy()[first] == pytest.approx(results[first], abs=1e-6)
        arrivals += int((results[first, 0] > 0.5).sum())
        first &= results[:, 1] == 0

    assert arrivals > 0
    assert not first.any(), "nobody plays longer than MAX_STEPS"


def test_nobody_begins_in_the_wall(worlds):
    from gridworld import WALL

    envs, arrays, tensors = worlds
    begun = [arrays._floors(1000), tensors._floors(1000).numpy()]

    assert all(env.column != WALL and env.goal_column != WALL for env in envs)
    assert not any((places[:, 1] == WALL).any() for places in begun)
