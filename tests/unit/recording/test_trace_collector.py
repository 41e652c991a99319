"""How traces of windows get into the run file, whatever became of them."""

from __future__ import annotations

import gzip
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.mailbox import Mailbox
from rlprof.recording import torch_traces
from rlprof.recording.mailbox import MailboxReader
from rlprof.recording.torch_traces import TraceCollector
from rlprof.settings import RecordingSettings, TorchWindows
from tests.factories import a_run

SETTINGS = RecordingSettings(("python", "train.py"), "train.py", Path("run.rlprof"))
SECOND_NS = 1_000_000_000
START_S = 100.0


class Learner:
    """A process whose agent tells of windows; its trace files are written here."""

    def __init__(self, folder: str) -> None:
        mailbox = Mailbox(10_000)
        self._cells = mailbox.cells
        self._cells[layout.CELL_TORCH_STATE] = layout.TORCH_WATCHED
        self.folder = Path(folder)
        (process,) = a_run().process("learner").recording().processes
        self.tracked: Any = SimpleNamespace(
            pid=process.pid,
            process=replace(process, ended_us=None),
            mailbox=MailboxReader(os.dup(mailbox.fd)),
        )

    def tell(
        self, number: int, fate: int, *, begun_s: float = 105.0, ended_s: float = 105.5
    ) -> None:
        values = (round(begun_s * SECOND_NS), round(ended_s * SECOND_NS), 10, 1, fate)
        for which, value in enumerate(values):
            self._cells[layout.window_cell(number, which)] = value

    def write(self, number: int, text: bytes) -> None:
        (self.folder / f"{self.tracked.pid}-{number}.json").write_bytes(text)

    def state(self, state: int) -> None:
        self._cells[layout.CELL_TORCH_STATE] = state


@pytest.fixture
def collector():
    made = TraceCollector(SETTINGS, START_S)
    yield made
    made.close()


@pytest.fixture
def learner(collector: TraceCollector) -> Learner:
    return Learner(collector.environment()["RLPROF_TORCH_DIR"])


def test_a_window_is_kept_once_with_its_trace_packed(collector, learner):
    learner.write(0, b'{"traceEvents": []}')
    learner.tell(0, layout.WINDOW_WRITTEN)
    found = [*collector.collect([learner.tracked]), *collector.finish([learner.tracked])]

    (window,) = found
    assert (window.fate, window.kind, window.updates) == ("written", "plain", 10)
    assert (window.begun_us, window.ended_us) == (5_000_000, 5_500_000)
    assert gzip.decompress(window.trace) == b'{"traceEvents": []}'
    assert list(collector.finish([learner.tracked])) == []


def test_a_window_that_was_open_at_the_end_is_lost(collector, learner):
    learner.tell(0, layout.WINDOW_OPEN, ended_s=0.0)
    (window,) = collector.finish([learner.tracked])

    assert (window.fate, window.trace) == ("lost", b"")
    assert window.ended_us >= window.begun_us


def test_a_window_without_its_file_has_failed(collector, learner):
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked])

    assert (window.fate, window.trace) == ("failed", b"")


def test_a_trace_that_is_too_large_is_left_out_and_told(collector, learner, monkeypatch):
    monkeypatch.setattr(torch_traces, "MOST_BYTES", 10)
    learner.write(0, b"x" * 11)
    learner.tell(0, layout.WINDOW_WRITTEN)
    (window,) = collector.finish([learner.tracked])

    assert window.fate == "failed"
    assert [note.slug for note in collector.notes([])] == ["torch-trace-too-large"]


@pytest.mark.parametrize(
    ("state", "slug"),
    [
        (layout.TORCH_OTHER_PROFILER, "torch-profiler-of-its-own"),
        (layout.TORCH_FAILED, "torch-window-failed"),
        (layout.TORCH_OTHER_THREAD, "torch-in-a-thread"),
        (layout.TORCH_NO_PROBE, "torch-without-probe"),
        (layout.TORCH_TOO_OLD, "torch-too-old"),
    ],
)
def test_what_kept_windows_away_is_told(collector, learner, state, slug):
    learner.state(state)

    assert [note.slug for note in collector.notes([learner.tracked])] == [slug]


def test_nothing_is_left_behind(collector, learner):
    learner.write(0, b"half")
    collector.close()

    assert not learner.folder.exists()


def test_off_asks_for_nothing_and_makes_no_folder(monkeypatch):
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: pytest.fail("a folder was made"))
    off = TraceCollector(replace(SETTINGS, torch=TorchWindows.OFF), START_S)

    assert off.environment() == {"RLPROF_TORCH": "off"}


def test_without_room_for_temporary_files_the_run_goes_on_and_it_is_told(collector, monkeypatch):
    def no_room(**_: object) -> str:
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "mkdtemp", no_room)

    assert collector.environment()["RLPROF_TORCH_DIR"] == ""
    assert [note.slug for note in collector.notes([])] == ["torch-window-failed"]
