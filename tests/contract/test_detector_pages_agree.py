"""A page's ``After`` computes what its ``Before`` does: a fix that changes the result is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import pytest

from tests.detector_pages import page, snippets

np = pytest.importorskip("numpy", reason="numpy is missing (make test installs it)")
torch = pytest.importorskip("torch", reason="torch is missing (make test installs it)")

pytestmark = pytest.mark.filterwarnings("ignore:Creating a tensor from a list:UserWarning")


def a_rollout() -> dict[str, object]:
    torch.manual_seed(0)
    rewards, values, going_on = torch.rand(8, 3), torch.rand(9, 3), torch.ones(8, 3)
    names = {"T": 8, "gamma": 0.99, "lam": 0.95, "last": 0.0}
    return {"rewards": rewards, "values": values, "going_on": going_on, **names}


def a_step() -> dict[str, object]:
    observations = np.arange(12, dtype=np.float64).reshape(4, 3)
    dones = np.array([False, True, False, True])
    return {"observations": observations, "rewards": np.arange(4.0), "dones": dones}


def two_networks() -> dict[str, object]:
    torch.manual_seed(0)
    return {
        "network": torch.nn.Linear(3, 3).requires_grad_(False),
        "target_network": torch.nn.Linear(3, 3).requires_grad_(False),
        "tau": 0.1,
    }


CASES: Mapping[str, tuple[Callable[[], dict[str, object]], str]] = {
    "array-conversion-in-loop": (lambda: {"self": SimpleNamespace(), "arms": 4}, "best"),
    "fp64": (lambda: {"rewards": [0.5, 0.25]}, "rewards"),
    "gae-loop": (a_rollout, "advantages"),
    "gpu-sync": (
        lambda: {"total": 0.0, "loss": torch.tensor(1.5), "advantages": torch.full((4,), 2.0)},
        "[total, *advantages]",
    ),
    "numpy-tiny-ops": (
        lambda: {"self": SimpleNamespace(speed=0.9, x=3.0, y=4.0), "push": 0.3},
        "[self.speed, distance]",
    ),
    "python-loop-over-tensor": (
        lambda: {"rewards": torch.arange(4.0), "mean": 1.5, "deviation": 2.0},
        "scaled",
    ),
    "target-update-per-parameter": (two_networks, "target_network.weight"),
    "tensor-from-list": (
        lambda: {"observations": [np.zeros(3)], "observation": np.arange(3.0)},
        "batch",
    ),
    "tiny-copies": (a_step, "[*observations.flatten(), *rewards, *dones]"),
}
"""By page: what its names stand for, and the result as an expression of them."""


@pytest.mark.parametrize("detector_id", sorted(CASES))
def test_before_and_after_give_the_same(detector_id):
    given, result = CASES[detector_id]

    before, after = (outcome(code, given(), result) for _, code in snippets(detector_id))

    assert after == pytest.approx(before, rel=1e-5)


def test_so_does_the_quicker_loop_for_advantages():
    (_, before), _ = snippets("gae-loop")
    quicker = page("gae-loop").split("```python\n")[3].partition("```")[0]
    arrays = {
        name: value.numpy() if isinstance(value, torch.Tensor) else value
        for name, value in a_rollout().items()
    }

    assert outcome(quicker, arrays, "advantages") == pytest.approx(
        outcome(before, a_rollout(), "advantages"), rel=1e-5
    )


def outcome(code: str, given: dict[str, object], result: str) -> list[float]:
    names = {"np": np, "torch": torch, "math": math, "device": "cpu", **given}
    exec(code, names)
    found = eval(result, names)
    return np.asarray(found, dtype=np.float64).ravel().tolist()
