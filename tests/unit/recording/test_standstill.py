from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from rlprof.recording import standstill
from rlprof.recording.program.escort import Escort
from rlprof.recording.standstill import Gap, StandstillWatch

PID = 7


class Job:
    """A run of one process, and the recorder that watches it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self.cpu_s = 0.0
        self.own_cpu_s = 0.0
        """That of the recorder."""
        self.target = SimpleNamespace(stops=0, stopped_at_s=None)
        self.escort = SimpleNamespace(
            target=self.target,
            was_continued=False,
            is_continued=False,
            follow_target=self._follow,
        )
        self._pending_stops = 0
        monkeypatch.setattr(standstill.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(standstill.time, "process_time", lambda: self.own_cpu_s)
        monkeypatch.setattr(
            standstill.procfs,
            "read_stat",
            lambda _pid: SimpleNamespace(cpu_us=round(self.cpu_s * 1e6)),
        )
        self.watch = StandstillWatch(cast(Escort, cast(Any, self.escort)))
        self.watch.note_cpu([PID])

    def passes(self, seconds: float, *, cpu_s: float = 0.0) -> Job:
        self.now_s += seconds
        self.cpu_s += cpu_s
        return self

    def recorder_is_continued(self, *, target_too: bool) -> Job:
        self.escort.was_continued = True
        self._pending_stops = int(target_too)
        return self

    def judged(self) -> Gap:
        return self.watch.judge([PID])

    def _follow(self) -> None:
        self.target.stops += self._pending_stops


@pytest.fixture
def job(monkeypatch):
    return Job(monkeypatch)


def test_an_ordinary_turn_is_no_gap(job):
    assert job.passes(0.25, cpu_s=0.25).judged() is Gap.NONE


def test_a_job_that_was_stopped_and_continued_stood_still(job):
    assert job.passes(60).recorder_is_continued(target_too=True).judged() is Gap.STOOD_STILL


def test_a_run_that_went_on_without_its_recorder_was_unwatched(job):
    job.passes(60, cpu_s=60).recorder_is_continued(target_too=False)

    assert job.judged() is Gap.UNWATCHED


def test_a_frozen_group_of_processes_stood_still_though_nobody_tells(job):
    assert job.passes(60, cpu_s=0.5).judged() is Gap.STOOD_STILL


def test_a_recorder_that_waits_for_a_core_on_a_crowded_machine_is_no_pause(job):
    assert job.passes(4, cpu_s=3.5).judged() is Gap.NONE


def test_a_run_that_gets_a_third_of_a_core_does_not_stand_still(job):
    job.passes(1, cpu_s=0.3).watch.note_cpu([PID])

    assert job.passes(1, cpu_s=0.3).judged() is Gap.NONE
    job.watch.turned()
    assert job.passes(2.6, cpu_s=0.8).judged() is Gap.NONE


def test_a_short_stop_is_not_worth_a_mark(job):
    assert job.passes(0.2).recorder_is_continued(target_too=True).judged() is Gap.NONE


def test_a_continuation_counts_once(job):
    job.passes(60, cpu_s=60).recorder_is_continued(target_too=False).judged()
    job.watch.turned()

    assert job.passes(1, cpu_s=1).judged() is Gap.NONE


def test_a_stop_within_a_turn_is_judged_in_the_next(job):
    job.judged()
    job.passes(60)
    job.escort.is_continued = True
    job.watch.turned()

    assert job.recorder_is_continued(target_too=True).judged() is Gap.STOOD_STILL


def test_of_turns_that_all_take_long_each_is_told_once(job):
    told_s = 0.0
    for _ in range(6):
        job.passes(3.0)
        last_s = job.watch.last_s
        if job.judged() is Gap.STOOD_STILL:
            told_s += job.now_s - last_s
        job.watch.note_cpu([PID])
        job.passes(3.0)
        job.watch.turned()

    assert told_s == pytest.approx(33.0)


def test_a_recorder_that_was_busy_with_many_new_processes_is_no_pause(job):
    job.own_cpu_s = 0.3

    assert job.passes(11.0).judged() is Gap.NONE


def test_a_process_that_has_started_since_the_last_note_counts_with_all_its_time(job):
    job.passes(3.0, cpu_s=0.5)

    assert job.watch.judge([PID + 1]) is Gap.NONE
