"""``rlprof verify`` on a real repository: a run promises, the fix is made, and history keeps what came."""

from __future__ import annotations

import json

import pytest

from tests.checked_repository import NOT_MEASURED, PASS, CheckedRepository

# More than half of the time goes in the slow one, however busy the machine is.
STEPPING = """
import time
import rlprof

def step():
    total = 0.0
    for number in range({numbers}):
        total += number * 0.5
    return total

for _ in range(300):
    step()
    time.sleep(0.004)
    rlprof.step()
"""
SLOW, FIXED = STEPPING.format(numbers=100_000), STEPPING.format(numbers=100)


pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def project(repository) -> CheckedRepository:
    """A repository whose only commit is slow, with a run of it that says so."""
    repository.commit(SLOW)
    recorded = repository.ended("run", "--no-report", "--label", "slow", "train.py")
    assert recorded.code == 0, recorded.err
    return repository


def test_a_fix_is_measured_beside_its_promise_and_kept(project):
    project.write(FIXED)

    answer = project.ended("verify", "train.py")

    assert answer.code == PASS, answer.err
    assert "of the time per step" in answer.out.splitlines()[0]
    for row in ("promised", "measured"):
        assert any(line.startswith(row) for line in answer.out.splitlines())
    (kept,) = (project.folder / ".rlprof").glob("*-train.verify.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert str(kept.relative_to(project.folder)) in answer.err
    fix = json.loads(kept.read_text())
    assert fix["gain"]["low"] > 0.2
    assert fix["gain"]["median"] > 0.4
    assert fix["promise"]["share"]["high"] > 0.2
    assert fix["promise"]["run_label"] == "slow"
    assert fix["promise"]["file"] == "train.py"
    assert "dirty-tree" in {note["slug"] for note in fix["notes"]}
    assert len(fix["pairs"]) == 5
    project.assert_tidy()

    history = project.ended("history", "--format", "json")
    calibration = project.ended("history", "--calibration", "--format", "json")

    (verified,) = json.loads(history.out)["verified"]
    assert verified["saved_share"]["median"] == fix["gain"]["median"]
    (promise,) = json.loads(calibration.out)["promises"]
    assert (promise["source"], promise["finding"]) == ("verified", fix["promise"]["finding"])


def test_a_fix_that_fails_is_not_measured_and_nothing_is_kept(project):
    project.write("raise SystemExit(3)")

    answer = project.ended("verify", "--run", "slow", "--format", "json", "train.py")

    assert answer.fails_with(NOT_MEASURED, "program-failed")
    assert answer.out == ""
    assert not [*(project.folder / ".rlprof").glob("*.verify.json")]
    project.assert_tidy()


@pytest.mark.slow
def test_what_was_committed_is_verified_against_an_earlier_commit(project):
    project.commit(FIXED)

    answer = project.ended("verify", "--base", "HEAD~1", "--format", "json", "train.py")

    assert answer.code == PASS, answer.err
    assert json.loads(answer.out)["gain"]["low"] > 0.2
