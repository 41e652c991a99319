from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import cast

import pytest

from rlprof.model.recording import Frame, Thread
from rlprof.recording.combine import ThreadWindow
from rlprof.recording.late_looks import LateLooks
from rlprof.recording.machine import procfs
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.samplers.austin import AustinProcess
from rlprof.recording.samplers.base import ClockStack, ClockTime
from rlprof.recording.stacks import StackTable
from rlprof.recording.tracked import TrackedProcess
from tests.factories import a_run

STEP = (Frame("env.py", "step", 3),)


class Clock:
    """A sampler that has looked once at each of some threads."""

    is_over = False

    def __init__(self, *tids: int) -> None:
        self._tids = tids
        self.reader = self

    def drain(self) -> dict[int, ClockTime]:
        looks = {tid: ClockTime() for tid in self._tids}
        for look in looks.values():
            look.ticks, look.busy_us = 1, 10_000
        return looks

    def parse(self, tid: int) -> ClockStack:
        return ClockStack(tid, STEP, is_gc=False, is_torn=False)


class Eye:
    """A mailbox that holds what the stack probe saw, and no counts."""

    def __init__(self, stacks: Iterable[tuple[tuple[Frame, ...], float]]) -> None:
        self._stacks = list(stacks)

    def take_stacks(self) -> list[tuple[tuple[Frame, ...], float]]:
        taken, self._stacks = self._stacks, []
        return taken

    def new_counts(self) -> dict[str, float]:
        return {}


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel no longer knows the process."""
    monkeypatch.setattr(procfs, "read_schedule", lambda _pid, _tid: None)


def a_worker(
    *, ended_us: int | None, saw: Iterable[tuple[tuple[Frame, ...], float]]
) -> TrackedProcess:
    (process,) = a_run().process().recording().processes
    return TrackedProcess(
        replace(process, started_us=0, ended_us=ended_us, fate="probe-only"),
        start_ticks=0,
        mailbox=cast(MailboxReader, Eye(saw)),
        stacks=StackTable(),
        new_thread=partial(Thread, 0),
    )


@pytest.mark.usefixtures("nobody")
def test_the_last_work_of_a_process_that_is_gone_is_what_its_probe_saw():
    worker = a_worker(ended_us=1_300_000, saw=[(STEP, 150_000.0), (STEP, 50_000.0)])

    seen = worker.close_window(now_us=1_500_000, length_us=500_000)

    # It lived for 300 ms of the window, of which it worked for 200.
    (clock,) = seen.clocks
    assert clock.wall_us == 300_000
    assert clock.on_cpu_us == 200_000
    assert sum(time.wall_us - time.idle_us for _, _, time in seen.samples) == 200_000


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(("others", "threads"), [([], 2), ([94_173_378_751_327], 2), ([7], 3)])
def test_what_cannot_be_the_id_of_a_thread_is_none(others, threads):
    worker = a_worker(ended_us=None, saw=[])
    worker.samplers = [cast(AustinProcess, Clock(worker.pid, worker.pid + 1, *others))]

    assert len(worker.close_window(now_us=1_500_000, length_us=500_000).clocks) == threads


@pytest.mark.usefixtures("nobody")
def test_where_no_thread_is_told_by_the_kernels_id_they_are_all_that_there_is():
    worker = a_worker(ended_us=None, saw=[])
    worker.samplers = [cast(AustinProcess, Clock(94_173_378_751_327, 94_173_378_751_328))]

    assert len(worker.close_window(now_us=1_500_000, length_us=500_000).clocks) == 2


@pytest.mark.usefixtures("nobody")
def test_a_process_that_is_gone_works_no_longer_than_it_lived():
    worker = a_worker(ended_us=1_100_000, saw=[(STEP, 400_000.0)])

    (clock,) = worker.close_window(now_us=1_500_000, length_us=500_000).clocks

    assert clock.on_cpu_us == clock.wall_us == 100_000


def test_turns_that_the_kernel_ended_are_told_from_those_that_the_thread_ended(
    monkeypatch: pytest.MonkeyPatch,
):
    turns = iter([(10, 100), (12, 106)])
    schedule = iter([(0, 0), (100_000, 100_000), (200_000, 400_000)])
    monkeypatch.setattr(procfs, "read_status", lambda _pid: procfs.ProcessStatus(0, *next(turns)))
    monkeypatch.setattr(procfs, "read_schedule", lambda _pid, _tid: next(schedule))
    worker = a_worker(ended_us=None, saw=[])
    seen: list[ThreadWindow] = []
    monkeypatch.setattr(LateLooks, "placed", lambda _self, window: seen.append(window) or {})

    for now_us in (2_000_000, 2_250_000):
        worker.close_window(now_us=now_us, length_us=250_000)

    assert [(window.sleeps, window.woken_queue_us) for window in seen] == [
        (1.0, 100_000.0),
        (0.25, 75_000.0),
    ]
