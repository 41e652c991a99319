"""How traces of windows get into the run file, whatever became of them."""

from __future__ import annotations

import gzip
import os
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.recording import torch_traces
from rlprof.recording.agents import TraceArrival
from rlprof.recording.machine.clock import RunClock
from rlprof.recording.mailboxes.mailbox import MailboxReader
from rlprof.recording.settings import RecordingSettings, TorchWindowPolicy
from rlprof.recording.torch_traces import TraceCollector
from tests.factories import a_run

SETTINGS = RecordingSettings(("python", "train.py"), "train.py", Path("run.rlprof"))
SECOND_NS = 1_000_000_000
START_S = 100.0
TRACE = b'{"traceEvents": []}'


class Learner:
    """A process whose agent tells of windows; its traces are sent from here."""

    def __init__(self, collector: TraceCollector, number: int = 0) -> None:
        mailbox = Mailbox(10_000)
        self._collector = collector
        self._cells = mailbox.cells
        self._cells[layout.CELL_TORCH_STATE] = layout.TORCH_WATCHED
        (process,) = a_run().process("learner").recording().processes
        self.tracked: Any = SimpleNamespace(
            pid=process.pid + number,
            process=replace(process, id=number, ended_us=None),
            mailbox=MailboxReader(os.dup(mailbox.fd)),
        )

    @property
    def state(self) -> int:
        return int(self._cells[layout.CELL_TORCH_STATE])

    @state.setter
    def state(self, state: int) -> None:
        self._cells[layout.CELL_TORCH_STATE] = state

    def tell(
        self, number: int, fate: int, *, begun_s: float = 105.0, ended_s: float = 105.5
    ) -> None:
        values = (round(begun_s * SECOND_NS), round(ended_s * SECOND_NS), 10, 1, fate)
        for which, value in enumerate(values):
            self._cells[layout.window_cell(number, which)] = value

    def send(self, number: int, text: bytes = TRACE) -> int:
        """The descriptor that the collector has now."""
        descriptor = os.memfd_create("trace")
        os.write(descriptor, text)
        self._collector.take(TraceArrival(self.tracked.pid, number, descriptor))
        return descriptor


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch):
    clock = RunClock()
    monkeypatch.setattr(clock, "_start_s", START_S)
    made = TraceCollector(SETTINGS, clock)
    yield made
    made.close()


@pytest.fixture
def learner(collector: TraceCollector) -> Learner:
    return Learner(collector)


def test_a_window_is_kept_once_with_its_trace_packed(collector, learner):
    descriptor = learner.send(0)
    learner.tell(0, layout.WINDOW_WRITTEN)
    found = [*collector.collect([learner.tracked]), *collector.finish([learner.tracked])]

    (window,) = found
    assert (window.fate, window.kind, window.updates) == ("written", "plain", 10)
    assert (window.begun_us, window.ended_us) == (5_000_000, 5_500_000)
    assert gzip.decompress(window.trace) == b'{"traceEvents": []}'
    assert list(collector.finish([learner.tracked])) == []
    assert not is_open(descriptor)


def test_names_of_ranges_are_kept_without_secrets(collector, learner):
    learner.send(0, b'[{"ph": "X", "cat": "user_annotation", "name": "token=hunter2", "pid": 1}]')
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked])

    assert b'"name": "token=xxxxxxx", "pid"' in gzip.decompress(window.trace)


def test_a_window_whose_trace_is_on_its_way_is_waited_for(collector, learner):
    learner.tell(0, layout.WINDOW_WRITTEN)
    assert list(collector.collect([learner.tracked])) == []
    learner.send(0)
    (window,) = collector.finish([learner.tracked])

    assert gzip.decompress(window.trace) == TRACE


def test_a_window_that_was_open_at_the_end_is_lost(collector, learner):
    learner.tell(0, layout.WINDOW_OPEN, ended_s=0.0)
    (window,) = collector.finish([learner.tracked])

    assert (window.fate, window.trace) == ("lost", b"")
    assert window.ended_us >= window.begun_us


def test_a_window_whose_trace_never_came_is_lost(collector, learner):
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked])

    assert (window.fate, window.trace) == ("lost", b"")


def test_a_window_that_failed_has_no_trace(collector, learner):
    learner.tell(0, layout.WINDOW_FAILED)
    (window,) = collector.finish([learner.tracked])

    assert (window.fate, window.trace) == ("failed", b"")


def test_a_trace_that_is_too_large_is_left_out_and_told(collector, learner, monkeypatch):
    monkeypatch.setattr(torch_traces, "MOST_BYTES_IN_A_RUN", 10)
    learner.send(0, b"x" * 11)
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked])

    assert window.fate == "failed"
    assert [note.slug for note in collector.notes(set())] == ["torch-trace-too-large"]


def test_packing_ends_when_it_must_and_leaves_nothing(collector, learner, monkeypatch):
    monkeypatch.setattr(torch_traces, "_PIECE", 1)
    descriptor = learner.send(0, b"x" * (64 << 20))
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked], deadline_s=0.0)
    collector.close()

    assert (window.fate, window.trace) == ("failed", b"")
    assert not is_open(descriptor)
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("pack-traces")]


def test_a_thread_that_cannot_be_started_costs_the_trace_alone(collector, learner, monkeypatch):
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(torch_traces.ThreadPoolExecutor, "submit", no_thread)
    descriptor = learner.send(0)
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked])

    assert (window.fate, window.trace) == ("failed", b"")
    assert not is_open(descriptor)


def test_the_first_eight_that_ask_may_have_windows(collector):
    learners = [Learner(collector, number) for number in range(10)]
    for learner in learners[1:]:
        learner.state = layout.TORCH_ASKS
    list(collector.collect(learner.tracked for learner in learners))

    assert learners[0].state == layout.TORCH_WATCHED
    assert [learner.state for learner in learners[1:]] == [
        *[layout.TORCH_MAY] * 8,
        layout.TORCH_OTHER_PROCESSES,
    ]


def test_who_asks_again_has_its_place_still(collector, learner):
    for _ in range(20):
        learner.state = layout.TORCH_ASKS
        list(collector.collect([learner.tracked]))
        assert learner.state == layout.TORCH_MAY


@pytest.mark.parametrize(
    ("state", "slug"),
    [
        (layout.TORCH_OTHER_PROFILER, "torch-profiler-of-its-own"),
        (layout.TORCH_FAILED, "torch-window-failed"),
        (layout.TORCH_OTHER_THREAD, "torch-in-a-thread"),
        (layout.TORCH_NO_PROBE, "torch-without-probe"),
        (layout.TORCH_TOO_OLD, "torch-too-old"),
        (layout.TORCH_NO_ROOM, "torch-without-room"),
        (layout.TORCH_NOT_SILENT, "torch-not-silent"),
        (layout.TORCH_TOO_DEAR, "torch-window-too-dear"),
        (layout.TORCH_OPEN_RANGE, "torch-range-open"),
        (layout.TORCH_WOULD_SLOW, "torch-no-windows-on-cuda"),
    ],
)
def test_what_kept_windows_away_is_told(collector, state, slug):
    assert [note.slug for note in collector.notes({state})] == [slug]


def test_a_missing_folder_for_temporary_files_is_told_by_its_name(collector):
    (note,) = collector.notes({layout.TORCH_NO_ROOM})

    assert "TMPDIR" in note.text


def test_traces_that_nobody_told_of_are_closed(collector, learner):
    descriptors = [learner.send(number) for number in (0, 1, 1)]
    assert not is_open(descriptors[2])
    collector.close()

    assert not any(is_open(descriptor) for descriptor in descriptors)


def test_off_asks_for_nothing():
    off = TraceCollector(replace(SETTINGS, torch=TorchWindowPolicy.OFF), RunClock())

    assert off.environment() == {"RLPROF_TORCH": "off"}
