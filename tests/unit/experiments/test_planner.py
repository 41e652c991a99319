"""Plans that a process of their own makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rlprof.errors import MeasureError
from rlprof.experiments import planner
from rlprof.experiments.plan import Plan
from rlprof.experiments.planner import PlannerProcess
from tests.factories import a_run
from tests.live_processes import wait_until
from tests.run_files import write_run


def made(process: PlannerProcess) -> Plan:
    wait_until(lambda: process.process.poll() is not None, "a plan")
    plan = process.plan(0.0)
    assert plan is not None
    return plan


def a_run_file(folder: Path, *, steady_s: float = 10.0) -> Path:
    run = a_run("train.py", steady_s=steady_s).process("main", steps=1000)
    recording = run.spends(steady_s, "train.py:7 step").recording()
    write_run(folder / "run.rlprof", recording, finish=False)
    return folder / "run.rlprof"


def test_a_plan_of_a_run_that_is_still_recorded(tmp_path):
    plan = made(PlannerProcess(a_run_file(tmp_path), 0.0))

    assert plan.is_steady
    assert plan.counter == "steps"
    assert [each.finding for each in plan.findings] == ["hot-spot"] or plan.findings == []


def test_a_run_that_is_not_steady_is_asked_again_later(tmp_path):
    assert made(PlannerProcess(a_run_file(tmp_path, steady_s=1.0), 0.0)) == Plan(is_steady=False)


def test_what_the_program_sets_for_its_python_is_not_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")

    assert made(PlannerProcess(a_run_file(tmp_path), 0.0)).is_steady


def test_an_error_is_told_in_its_words(tmp_path):
    process = PlannerProcess(tmp_path / "gone.rlprof", 0.0)

    with pytest.raises(MeasureError, match=r"gone\.rlprof") as caught:
        made(process)

    assert caught.value.slug == "try-not-planned"


@pytest.fixture
def starts(monkeypatch):
    """What the process runs in place of the planner."""

    def _starts(text: str) -> PlannerProcess:
        monkeypatch.setattr(planner, "_START", text)
        return PlannerProcess(Path("run.rlprof"), 100.0)

    return _starts


def test_one_that_dies_without_a_word_is_told_by_its_end(starts):
    process = starts("import os; os._exit(3)")

    with pytest.raises(MeasureError, match="it ended with 3"):
        made(process)


def test_of_a_bug_the_last_line_is_told(starts):
    process = starts("raise ValueError('of ours')")

    with pytest.raises(MeasureError, match="ValueError: of ours"):
        made(process)


def test_there_is_none_while_it_is_made_and_patience_ends(starts):
    process = starts("import time; time.sleep(600)")

    assert process.plan(100.0) is None
    assert process.plan(159.0) is None
    with pytest.raises(MeasureError, match="it took more than 60 s"):
        process.plan(161.0)

    assert process.process.returncode is not None


def test_one_that_writes_a_lot_does_not_stand_still(starts):
    process = starts("import sys; sys.stderr.write('x' * 1_000_000); sys.exit('done')")

    with pytest.raises(MeasureError, match="done"):
        made(process)


def test_it_can_be_given_up(starts):
    process = starts("import time; time.sleep(600)")

    process.stop()

    assert process.process.returncode is not None


def test_the_child_prints_one_plan_and_nothing_else(tmp_path, capfdbinary):
    import msgspec

    planner.main(str(a_run_file(tmp_path)), of_ceilings=False)
    sys.stdout.flush()

    assert msgspec.json.decode(capfdbinary.readouterr().out, type=Plan).is_steady
