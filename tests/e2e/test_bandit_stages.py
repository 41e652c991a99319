"""The stages of the bandit differ in speed alone, and its ladder is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.ladder import SPS, read_ladder
from rlprof.discovery import discover_detectors

BANDIT = Path(__file__).parents[2] / "examples" / "bandit"
STAGES = (1, 2, 3, 4)

pytestmark = pytest.mark.e2e


def train(stage: int, *arguments: str) -> str:
    pytest.importorskip("numpy", exc_type=ImportError)
    pytest.importorskip("omegaconf", exc_type=ImportError)
    answer = subprocess.run(
        [sys.executable, str(BANDIT), "--stage", str(stage), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return answer.stdout


def test_all_stages_compute_the_same_results():
    outputs = [train(stage, "--runs", "2", "--steps", "300") for stage in STAGES]

    results = {output.splitlines()[-1] for output in outputs}
    assert len(results) == 1
    assert results.pop().startswith("mean reward ")


def test_overrides_reach_the_training():
    default = train(4, "--runs", "1", "--steps", "50")
    greedy = train(4, "--runs", "1", "--steps", "50", "agent.epsilon=0.0")

    assert default.splitlines()[-1] != greedy.splitlines()[-1]


def test_every_stage_prints_its_sps():
    assert SPS.search(train(4, "--runs", "1", "--steps", "10"))


def test_ladder_names_every_stage_and_detectors_that_exist():
    ladder = read_ladder(BANDIT).stages

    assert tuple(stage.number for stage in ladder) == STAGES
    assert {stage.finding for stage in ladder} <= {detector.id for detector in discover_detectors()}
