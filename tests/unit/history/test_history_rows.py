"""Rows of the history: which files, in which order, and what a gain is over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlprof.comparison.sides import crowding_of
from rlprof.history.rows import HistoryRow, Unread, history_files, history_of, read_row
from rlprof.report import wording
from rlprof.report.build import build_report
from rlprof.verification.json_document import verification_as_json
from tests.factories import a_run
from tests.history_factory import a_row
from tests.run_files import write_run
from tests.verification_factory import a_verified_fix

LOOP = "/home/researcher/project/train.py:40 train"


def a_training(path: Path, *, steps: float = 5000, finish: bool = True) -> Path:
    """A run file of ten seconds of training."""
    run = a_run("train.py", steady_s=10).process("main", steps=steps).spends(10, LOOP)
    writer = write_run(path, run.recording(), finish=finish)
    if not finish:
        writer.close()
    return path


def gains(*rows: HistoryRow) -> list[tuple[float | None, float | None]]:
    return [
        (
            row.over_previous and round(row.over_previous.times, 2),
            row.over_first and round(row.over_first.times, 2),
        )
        for row in history_of(rows).rows
    ]


def test_a_run_is_read_with_its_rate(tmp_path):
    row = read_row(a_training(tmp_path / "run.rlprof"))

    assert isinstance(row, HistoryRow)
    assert row.sps is not None
    assert row.sps.median == pytest.approx(500)
    assert row.remarks == ()
    assert wording.typed(row.run.command) == "train.py"


def test_a_run_without_steps_says_why_it_has_no_rate(tmp_path):
    row = read_row(a_training(tmp_path / "run.rlprof", steps=0))

    assert isinstance(row, HistoryRow)
    assert row.sps is None
    assert row.remarks == ("no sps: nothing counted steps",)


def test_a_foreign_file_is_listed_with_the_reason(tmp_path):
    junk = tmp_path / "junk.rlprof"
    junk.write_text("hello")

    row = read_row(junk)

    assert isinstance(row, Unread)
    assert "not a run file" in row.reason


def test_a_folder_gives_its_run_files_without_the_link_to_the_latest(tmp_path):
    old, new = a_training(tmp_path / "1.rlprof"), a_training(tmp_path / "2.rlprof")
    (tmp_path / "latest").symlink_to(new.name)
    (tmp_path / "linked.rlprof").symlink_to(new.name)
    (tmp_path / "notes.txt").touch()

    assert history_files([tmp_path]) == [old, new]
    assert history_files([new, tmp_path]) == [new, old]
    assert history_files([tmp_path / "latest"]) == [tmp_path / "latest"]


def test_a_project_gives_the_runs_that_were_recorded_there(tmp_path):
    (tmp_path / ".rlprof").mkdir()
    run = a_training(tmp_path / ".rlprof" / "1.rlprof")

    assert history_files([tmp_path]) == [run]


def test_rows_are_in_order_of_time_and_gain_over_the_one_before_and_the_first():
    assert gains(a_row(800, at=3), a_row(100, at=1), a_row(400, at=2)) == [
        (None, None),
        (4.0, 4.0),
        (2.0, 8.0),
    ]


def test_a_run_without_a_rate_is_passed_over():
    assert gains(a_row(100, at=1), a_row(None, at=2), a_row(300, at=3)) == [
        (None, None),
        (None, None),
        (3.0, 3.0),
    ]


def test_runs_of_another_program_or_machine_are_not_compared():
    other_machine = a_row(900, at=4, cpu_model="another")

    assert gains(
        a_row(100, at=1), a_row(5, at=2, script="eval.py"), a_row(200, at=3), other_machine
    ) == [(None, None), (None, None), (2.0, 2.0), (None, None)]


def test_a_gain_within_the_uncertainty_is_not_clear():
    found = history_of([a_row(100, at=1, within=0.2), a_row(110, at=2, within=0.2)])

    gain = found.rows[1].over_previous
    assert gain is not None
    assert not gain.is_clear


def test_a_gain_is_clear_by_the_rule_of_the_comparison():
    def clear(*rows: HistoryRow) -> bool:
        gain = history_of(rows).rows[-1].over_previous
        assert gain is not None
        return gain.is_clear

    assert clear(a_row(100, at=1), a_row(80, at=2))
    # Others took a third of the second run's time.
    assert not clear(a_row(100, at=1), a_row(80, at=2, crowding=0.5))
    assert clear(a_row(100, at=1), a_row(40, at=2, crowding=0.5))
    assert not clear(a_row(100, at=1, within=0.001), a_row(104, at=2, within=0.001))


def test_history_and_diff_see_the_same_crowding(tmp_path):
    run = a_run("train.py", steady_s=10).process("main", steps=5000).spends(10, LOOP, cpu=0.8)
    path = tmp_path / "run.rlprof"
    write_run(path, run.recording())

    row = read_row(path)

    assert isinstance(row, HistoryRow)
    assert row.crowding == pytest.approx(0.25)
    assert row.crowding == pytest.approx(crowding_of(build_report(run.recording())))


def test_the_label_tells_a_run_and_else_the_commit():
    row = a_row(100, at=1)

    assert replace(row, run=replace(row.run, label="stage-1", git="abc")).stage == "stage-1"
    assert replace(row, run=replace(row.run, label=None, git="abc+changes")).stage == "abc+changes"
    assert replace(row, run=replace(row.run, label=None, git=None)).stage == ""


def test_a_run_that_ended_badly_says_so():
    row = a_row(100, at=1)

    bad = replace(row, run=replace(row.run, exit_code=137, complete=False))

    assert bad.remarks == ("recording cut off", "exit code 137")
    goes_on = replace(row, run=replace(row.run, complete=False, is_live=True))
    assert goes_on.remarks == ("still being recorded",)


def test_verified_fixes_are_found_and_read_beside_runs(tmp_path):
    kept, damaged = tmp_path / "1-train.verify.json", tmp_path / "2-train.verify.json"
    kept.write_text(verification_as_json(a_verified_fix()))
    damaged.write_text("{")

    read = [read_row(path) for path in history_files([tmp_path])]

    found = history_of(read)
    assert [fix.promise for fix in found.verified] == [a_verified_fix().promise]
    assert [unread.file for unread in found.unread] == [str(damaged)]
    assert not found.is_empty
