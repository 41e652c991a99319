"""The stages of the PPO example on CUDA: each trains there, and the ladder goes up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from benchmarks.ladder import SPS, read_ladder

EXAMPLE = Path(__file__).parents[2] / "examples" / "ppo"
STAGES = tuple(read_ladder(EXAMPLE).arguments())
DEADLINE_S = 120
"""Loading CUDA alone takes many seconds on a busy machine."""
SHORT = {"1": "3", "2": "4"}
"""Updates of the stages that ask the device for one number at a time; the others have ten."""
PAIRS = 3

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _cuda() -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")


def train(stage: str, *arguments: str) -> str:
    answer = subprocess.run(
        [sys.executable, str(EXAMPLE), "--stage", stage, "--device", "cuda", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return answer.stdout


def sps_of(stage: str, *arguments: str) -> float:
    return float(SPS.search(train(stage, *arguments))[1])


@pytest.mark.timeout(DEADLINE_S)
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_trains_on_the_device(stage):
    printed = train(stage, "--updates", SHORT.get(stage, "10"))

    assert "on cuda" in printed
    assert float(SPS.search(printed)[1]) > 0


@pytest.mark.timeout(4 * DEADLINE_S)
@pytest.mark.parametrize(("before", "after"), [("1", "2"), ("2", "3")])
def test_each_fix_speeds_up_training_on_the_device(before, after):
    """Of the fixes that keep the host from asking the device for one number at a time; those of stages 6 and 7 are worth nothing
    on a fast card (docs/on-a-gpu.md).
    """
    updates = ("--updates", SHORT.get(before, "60"))

    gains = [sps_of(after, *updates) / sps_of(before, *updates) for _ in range(PAIRS)]

    assert median(gains) > 1
