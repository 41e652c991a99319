"""Each stage of the PPO example trains, on a CPU too, and its ladder is whole."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.ladder import SPS, read_ladder
from rlprof.discovery import discover_detectors
from tests.live_processes import DEADLINE_S

EXAMPLE = Path(__file__).parents[2] / "examples" / "ppo"
STAGES = tuple(read_ladder(EXAMPLE).arguments())
SMALL = ("--num-envs", "16", "--steps", "8", "--updates", "5")

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", exc_type=ImportError)


def train(stage: str, *arguments: str) -> str:
    answer = subprocess.run(
        [sys.executable, str(EXAMPLE), "--stage", stage, "--device", "cpu", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return answer.stdout


def mean_returns(printed: str) -> list[float]:
    return [float(value) for value in re.findall(r"mean return (-?[\d.]+)", printed)]


def slow(*stages):
    """The stages in the middle, by their own make target: one run takes some seconds."""
    return [pytest.param(stage, marks=pytest.mark.slow) for stage in stages]


@pytest.mark.parametrize("stage", [STAGES[0], *slow(*STAGES[1:-1]), STAGES[-1]])
def test_every_stage_trains_and_prints_its_sps(stage):
    printed = train(stage, *SMALL)

    assert f"update 5: {5 * 8 * 16} steps" in printed
    assert float(SPS.search(printed)[1]) > 0


@pytest.mark.parametrize("stage", [*slow("1", "6"), "8"])
@pytest.mark.slow
def test_the_same_seed_gives_the_same_training(stage, tmp_path):
    for seed, log in (("1", "one"), ("1", "same"), ("2", "other")):
        train(stage, *SMALL, "--seed", seed, "--log", str(tmp_path / log))

    one, same, other = (
        re.findall(r"update .*", (tmp_path / log).read_text()) for log in ("one", "same", "other")
    )
    assert len(one) == 5
    assert one == same
    assert one != other


@pytest.mark.parametrize("stage", [*slow("3", "6"), "8"])
def test_the_return_rises(stage):
    returns = mean_returns(train(stage, "--updates", "19"))

    # Episodes take up to 60 steps: those that have ended before update 4 are the short ones.
    assert fmean(returns[3:8]) < 0.5
    assert returns[-1] > 0.8


@pytest.mark.slow
def test_episodes_are_logged_one_by_one_until_stage_5(tmp_path):
    records = {}
    for stage in ("4", "5"):
        train(stage, *SMALL, "--steps", "64", "--log", str(tmp_path / stage))
        records[stage] = len((tmp_path / stage).read_text().splitlines())

    assert records["4"] > 5 + 16
    assert records["5"] == 5


def test_a_gpu_that_is_not_there_is_said_to_be():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")

    answer = subprocess.run(
        [sys.executable, str(EXAMPLE), "--device", "cuda"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )

    assert answer.returncode == 2
    assert "torch sees no CUDA device" in answer.stderr


def test_ladder_names_stages_in_order_and_findings_that_exist():
    ladder = read_ladder(EXAMPLE)
    detectors = discover_detectors()

    assert [stage.number for stage in ladder.stages] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert {stage.number for stage in ladder.stages if stage.device == "cuda"} == {6, 7}
    findings = {rung.finding for rung in (*ladder.stages, *ladder.pairs)}
    assert findings <= {detector.id for detector in detectors}
