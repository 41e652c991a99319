"""Runs that end badly: what counts as a crash, and the first line of every report of one."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from typing import Any

import pytest

from rlprof.discovery import discover_renderers
from rlprof.errors import exit_code_of_signal
from rlprof.history.rows import HistoryRow, read_row
from rlprof.model.crash import Crash, DeadWorker
from rlprof.model.profile import PhaseKind
from rlprof.model.recording import Note, Recording
from rlprof.model.report import Report
from rlprof.report.build import build_report, is_worth_keeping
from rlprof.report.wording import unglued
from rlprof.report.wording.crash import crash_in_short, crash_line
from tests.factories import SECOND, RunBuilder, a_run
from tests.report_factories import a_finding, a_report
from tests.run_files import write_run


def a_training(*, steps: float = 10_000, steady_s: float = 10.0) -> RunBuilder:
    return (
        a_run("train.py", steady_s=steady_s)
        .process("main", steps=steps)
        .spends(2.0, "train.py:1 <module>", start_up=True)
        .spends(steady_s, "train.py:12 step")
        .process("worker")
        .spends(steady_s, "worker.py:3 work")
    )


def with_worker(run: RunBuilder, code: int, *, after_s: float, how: str = "fork") -> Recording:
    recording = run.recording()
    main, worker = recording.processes
    died = replace(worker, exit_code=code, ended_us=round(after_s * SECOND), start_method=how)
    return replace(recording, processes=(main, died))


def said(recording: Recording) -> str:
    """The line of its crash; empty without one."""
    report = build_report(recording)
    return unglued(crash_line(report.crash, report.run.wall_us)) if report.crash else ""


# What counts


@pytest.mark.parametrize("code", [0, None, 130, 143])
def test_a_run_that_ended_well_or_was_stopped_is_no_crash(code):
    assert said(a_training().with_run(exit_code=code).recording()) == ""


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (1, "ended with exit code 1"),
        (7, "ended with exit code 7"),
        (137, "was killed by SIGKILL"),
        (139, "was killed by SIGSEGV"),
        (255, "ended with exit code 255"),
    ],
)
def test_a_program_that_fails_or_is_killed_is_a_crash(code, how):
    recording = a_training().with_run(exit_code=code).recording()

    assert said(recording) == f"Crashed after 12.0 s: the program {how}."


@pytest.mark.parametrize("code", [1, 120, 255])
def test_a_program_that_was_told_to_end_may_do_so_with_any_exit_code(code):
    told = a_training().with_run(exit_code=code, told_to_end_us=8 * SECOND)

    assert said(told.recording()) == ""
    # Its workers do so, too, however long it takes to clear up.
    assert said(with_worker(told, code, after_s=8.5)) == ""
    assert "worker 1001 ended with exit code" in said(with_worker(told, code, after_s=3.0))


@pytest.mark.parametrize("by", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_program_that_somebody_stops_has_not_crashed(by):
    """By Ctrl-C, a scheduler, a terminal that is closed, or Ctrl-\\."""
    code = exit_code_of_signal(signal.Signals[by])

    assert said(a_training().with_run(exit_code=code).recording()) == ""


def test_a_program_that_is_killed_once_it_was_told_to_end_is_a_crash():
    told = a_training().with_run(exit_code=139, told_to_end_us=8 * SECOND)

    assert "was killed by SIGSEGV" in said(told.recording())


def test_a_program_that_does_not_end_when_told_to_and_is_killed_for_that_has_not_crashed():
    ignored = a_training().with_run(exit_code=137, told_to_end_us=2 * SECOND)

    assert said(ignored.recording()) == ""
    # By somebody else, for whatever reason: nobody has waited for it.
    at_once = a_training().with_run(exit_code=137, told_to_end_us=11 * SECOND)
    assert "was killed by SIGKILL" in said(at_once.recording())


def test_a_training_that_a_try_kills_after_the_recording_has_not_crashed():
    ended = a_training().with_run(exit_code=137, told_to_end_us=20 * SECOND)

    assert said(ended.recording()) == ""


def test_a_worker_that_dies_long_before_the_end_is_told():
    assert said(with_worker(a_training(), 1, after_s=3.0)) == (
        "A worker died: worker 1001 ended with exit code 1, after 3.0 s of 12.0 s."
    )
    assert "worker 1001 was killed by SIGKILL" in said(with_worker(a_training(), 137, after_s=3.0))


@pytest.mark.parametrize(
    ("code", "after_s", "how"),
    [
        (1, 11.5, "fork"),  # An EOFError as its pipe is closed.
        (137, 11.9, "spawn"),  # By its pool.
        (143, 3.0, "fork"),  # terminate(), as environments do that are made anew.
        (130, 3.0, "fork"),
        (1, 3.0, "subprocess"),  # A look whether a module is there.
        (0, 3.0, "fork"),
    ],
)
def test_a_worker_that_is_shut_down_is_no_crash(code, after_s, how):
    assert said(with_worker(a_training(), code, after_s=after_s, how=how)) == ""


def test_of_a_run_that_failed_all_that_ended_badly_is_told():
    failed = a_training().with_run(exit_code=1)

    rank = with_worker(failed, 1, after_s=11.9, how="subprocess")

    assert said(rank) == (
        "Crashed after 12.0 s: the program ended with exit code 1, and process 1001 ended with exit code 1, "
        "after 11.9 s."
    )
    # By its parent, on its way out.
    for code in (143, 137):
        assert "worker" not in said(with_worker(failed, code, after_s=11.9))


def with_workers(run: RunBuilder, *ends: tuple[int | None, float]) -> Recording:
    """One more worker for each end: its exit code, and when."""
    recording = run.recording()
    main, worker = recording.processes
    workers = [
        replace(
            worker,
            id=number,
            pid=1000 + number,
            exit_code=code,
            ended_us=round(ended_s * SECOND),
            start_method="fork",
        )
        for number, (code, ended_s) in enumerate(ends, 1)
    ]
    return replace(recording, processes=(main, *workers))


def test_a_worker_that_was_killed_before_others_ended_badly_is_told_though_the_end_was_near():
    failed = a_training().with_run(exit_code=1)

    assert "worker 1002 was killed by SIGKILL, after 11.9 s" in said(
        with_workers(failed, (143, 11.92), (137, 11.9), (143, 11.91))
    )
    # Its pipe closes first, and so the others may have ended before it has.
    assert "worker 1002 was killed by SIGKILL" in said(
        with_workers(failed, (143, 11.89), (137, 11.9))
    )


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param([(137, 11.90), (137, 11.91)], id="all by their parent"),
        pytest.param([(143, 11.80), (137, 11.91)], id="who outlasted the others"),
        pytest.param([(137, 11.90), (0, 11.91)], id="who outlasted one, beside a slow one"),
        pytest.param([(137, 11.90), (None, 11.91)], id="nobody knows"),
    ],
)
def test_a_worker_that_its_parent_killed_on_its_way_out_is_not_told(ends):
    failed = a_training().with_run(exit_code=1)

    assert "worker" not in said(with_workers(failed, *ends))


def test_workers_that_died_alike_are_told_together():
    workers = (
        DeadWorker(7, "environment worker", 1, 3 * SECOND),
        DeadWorker(8, "environment worker", 1, 4 * SECOND),
        DeadWorker(9, "logger", 139, 5 * SECOND),
    )
    crash = Crash(None, workers, before_steady=False)

    assert unglued(crash_line(crash, 12 * SECOND)) == (
        "3 workers died: 2 environment workers ended with exit code 1, logger 9 was killed by SIGSEGV, the first "
        "after 3.0 s of 12.0 s."
    )
    assert crash_in_short(crash) == "environment worker 7 and 2 more died: exit code 1"


# What is worth keeping


def test_a_run_with_a_steady_phase_is_worth_keeping_whatever_became_of_it():
    for recording in (
        a_training().recording(),
        a_training().with_run(exit_code=1).recording(),
        with_worker(a_training(), 1, after_s=3.0),
    ):
        assert is_worth_keeping(build_report(recording))


def test_a_crash_before_anything_was_steady_leaves_no_advice():
    at_start = a_run("train.py", start_up_s=5.0, steady_s=0.0).process("main")
    at_start.spends(5.0, "train.py:1 <module>", "torch/__init__.py:1 <module>", start_up=True)
    assert build_report(at_start.recording()).findings

    report = build_report(at_start.with_run(exit_code=1).recording())

    assert not is_worth_keeping(report)
    assert (report.findings, report.also_seen) == ((), ())


def test_an_early_crash_keeps_the_remark_on_time_that_was_left_out():
    recording = a_training(steps=0, steady_s=3.0).with_run(exit_code=1).recording()
    paused = Note("info", "run-paused", "The run stood still for 9 s.")
    other = Note("info", "detector-skipped", "Left out.")

    report = build_report(replace(recording, notes=(*recording.notes, paused, other)))

    assert [note.slug for note in report.notes if note.level == "info"] == ["run-paused"]


def test_what_came_after_the_start_of_an_early_crash_is_not_called_steady():
    crashed = a_training(steps=0, steady_s=3.0).with_run(exit_code=1)

    report = build_report(crashed.recording())

    assert not is_worth_keeping(report)
    assert [phase.kind for phase in report.phases] == [PhaseKind.WARM_UP]
    assert (report.components, report.waits, report.resources) == ((), (), None)
    assert report.bound.text == ""
    text = unglued(rendered("terminal", report, width="120"))
    assert "Phases  not yet steady 5.0 s (100 %)\n" in text
    assert text.count("steady") == 2


def test_the_phases_of_an_early_crash_cover_the_run_and_its_timeline():
    crashed = a_training(steps=30, steady_s=0.5).with_run(exit_code=1)

    report = build_report(crashed.recording(), detailed=True)

    bounds = [(phase.start_us, phase.end_us) for phase in report.phases]
    assert sum(end - start for start, end in bounds) == report.run.wall_us
    assert len({phase.kind for phase in report.phases}) == len(report.phases)
    assert report.detail is not None
    named = {slice_.phase for slice_ in report.detail.slices}
    assert named <= {phase.kind for phase in report.phases}


def test_every_renderer_takes_an_early_crash():
    crashed = a_training(steps=0, steady_s=3.0).with_run(exit_code=1)

    report = build_report(crashed.recording(), detailed=True)

    for renderer in discover_renderers():
        assert renderer.render(report, {}) == renderer.render(report, {})


def test_a_worker_that_dies_while_nothing_is_counted_leaves_no_steady_wait():
    waiting = a_training(steps=0, steady_s=85.0)

    assert not is_worth_keeping(build_report(with_worker(waiting, 1, after_s=4.0)))
    assert is_worth_keeping(build_report(with_worker(waiting, 1, after_s=40.0)))


# Every report


CRASHED = Crash(1, (DeadWorker(1001, "environment worker", 139, 3 * SECOND),), before_steady=False)
LINE = (
    "Crashed after 12.0 s: the program ended with exit code 1, and environment worker 1001 was killed by SIGSEGV, "
    "after 3.0 s."
)


def a_crashed_report(**changes: Any) -> Report:
    crash = replace(CRASHED, **changes)
    findings = () if crash.before_steady else (a_finding(),)
    return a_report(
        sps=None if crash.before_steady else 657.0,
        findings=findings,
        exit_code=1,
        seen={"crash": crash},
    )


def rendered(name: str, report: Report, **options: str) -> str:
    (renderer,) = [candidate for candidate in discover_renderers() if candidate.name == name]
    text = renderer.render(report, options)
    assert isinstance(text, str)
    return text


def test_it_is_the_first_line_of_the_terminal_report():
    lines = rendered("terminal", a_crashed_report(), width="200").splitlines()

    assert lines[0] == LINE
    assert lines[1] == "657 sps. Fixing the first finding gives 3 400 to 4 100 sps."


def test_it_is_the_heading_of_the_markdown_report():
    document = rendered("markdown", a_crashed_report()).replace("\u00a0", " ")
    lines = document.split("\n\n")

    assert lines[0] == f"### rlprof: {LINE}"
    assert lines[1] == "657 sps. Fixing the first finding gives 3 400 to 4 100 sps."


def test_it_stands_before_the_answer_of_the_page():
    page = rendered("html", a_crashed_report()).replace("\u00a0", " ")

    assert LINE in page
    assert page.index(LINE) < page.index('class="answer"')


def test_it_is_in_the_json_document():
    run = json.loads(rendered("json", a_crashed_report()))["run"]

    assert run["crash"] == {
        "exit_code": 1,
        "workers": [{"pid": 1001, "role": "environment worker", "exit_code": 139, "ended_s": 3.0}],
        "before_steady": False,
    }


@pytest.mark.parametrize("name", ["terminal", "markdown", "html"])
def test_an_early_crash_gives_no_advice_and_asks_for_no_steps(name):
    document = rendered(name, a_crashed_report(before_steady=True))

    assert "Nothing was steady before that, so there is no advice." in document
    assert "rlprof.step" not in document
    assert "No known cause" not in document
    assert ".rlprof/run.rlprof" in document


def test_the_history_says_so(tmp_path):
    write_run(tmp_path / "run.rlprof", with_worker(a_training(), 1, after_s=3.0))

    row = read_row(tmp_path / "run.rlprof")

    assert isinstance(row, HistoryRow)
    assert row.remarks == ("worker 1001 died: exit code 1",)
    assert replace(row, crash=Crash(139, (), before_steady=True)).remarks == ("crashed: SIGSEGV",)
