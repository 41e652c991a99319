from __future__ import annotations

import os
import re
import sqlite3
from contextlib import contextmanager

import pytest

from rlprof.model.recording import RunInfo
from rlprof.recording import storing
from rlprof.recording.census import Census
from rlprof.recording.guard import PartGuard
from rlprof.recording.machine import disk_room
from rlprof.recording.program.output_tap import OutputTap
from rlprof.recording.stacks import StackTable
from rlprof.recording.storing import WindowStore
from rlprof.runfile.reader import read_run
from rlprof.runfile.schema import journals
from rlprof.runfile.writer import RunWriter
from tests.factories import a_run

SPS = re.compile(r"sps (\d+)|steps (?P<steps>\d+)")
SECOND = 1_000_000


class Recorded:
    """A run of which only the output is looked at: second by second, one window each."""

    def __init__(self, run_file, run: RunInfo) -> None:
        self.run_file = run_file
        self.now_us = 0
        stacks = StackTable()
        self.store = WindowStore(RunWriter(run_file, run), stacks)
        self.census = Census(stacks, lambda: self.now_us, expects_agents=False)
        self.streams = [OutputTap(os.open(os.devnull, os.O_WRONLY), SPS) for _ in range(2)]

    def prints_in_a_second(self, stdout: bytes = b"\n", stderr: bytes = b"\n") -> None:
        for tap, text in zip(self.streams, (stdout, stderr), strict=True):
            os.write(tap.target_end, text)
            tap.pump()
        self.now_us += SECOND
        self.store.close_window(self.now_us, self.census, self.streams, PartGuard())

    def rates(self) -> list[tuple[int, float]]:
        self.store.finish(exit_code=0, census=self.census, overhead={}, notes=[])
        gauges = read_run(self.run_file).gauges
        return [(gauge.window, gauge.value) for gauge in gauges if gauge.name == "output_sps"]


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path / "run.rlprof", a_run().recording().run)


def test_a_printed_rate_belongs_to_the_window_in_which_it_was_printed(recorded):
    recorded.prints_in_a_second(b"sps 640\n")
    recorded.prints_in_a_second(b"loss 0.1\n")
    recorded.prints_in_a_second(b"sps 650\nsps 660\n")

    assert recorded.rates() == [(0, 640), (2, 660)]


def test_a_rate_printed_on_either_stream_is_kept(recorded):
    recorded.prints_in_a_second(stdout=b"sps 640\n")
    recorded.prints_in_a_second(stderr=b"sps 600\n")
    recorded.prints_in_a_second(stdout=b"sps 640\n", stderr=b"sps 600\n")

    assert recorded.rates() == [(0, 640), (1, 600), (2, 620)]


def test_a_disk_that_fills_up_is_left_to_the_program(recorded, monkeypatch):
    """The recording ends, and what it has is whole."""
    for number in range(8):
        recorded.prints_in_a_second(b"sps 640\n")
        if number == 3:
            monkeypatch.setattr(disk_room, "_free_bytes", lambda _: 1 << 20)

    assert recorded.store.failure.slug == "disk-nearly-full"
    assert len(read_run(recorded.run_file).windows) == 8
    assert not any(journal.exists() for journal in journals(recorded.run_file))


@contextmanager
def locked(run_file):
    """Somebody else's open change."""
    other = sqlite3.connect(run_file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_what_is_seen_while_the_file_is_locked_is_written_afterwards(recorded):
    recorded.prints_in_a_second(b"sps 640\n")
    with locked(recorded.run_file):
        recorded.prints_in_a_second(b"sps 650\n")
        recorded.prints_in_a_second(b"sps 660\n")
    recorded.prints_in_a_second(b"sps 670\n")

    assert recorded.rates() == [(0, 640), (1, 650), (2, 660), (3, 670)]
    assert recorded.store.failure is None


def test_windows_are_not_merged_while_the_file_is_locked(recorded, monkeypatch):
    monkeypatch.setattr(storing, "MAX_WINDOWS", 2)
    for _ in range(3):
        recorded.prints_in_a_second(b"sps 600\n")
    with locked(recorded.run_file):
        for _ in range(4):
            recorded.prints_in_a_second(b"sps 600\n")

    assert recorded.rates()
    assert recorded.store.failure is None


def test_a_file_that_stays_locked_to_the_end_keeps_what_was_written(recorded, monkeypatch):
    monkeypatch.setattr(storing, "PATIENCE_AT_THE_END_S", 0.1)
    recorded.prints_in_a_second(b"sps 640\n")
    with locked(recorded.run_file):
        recorded.prints_in_a_second(b"sps 650\n")
        recorded.store.finish(exit_code=0, census=recorded.census, overhead={}, notes=[])

    assert "another program has locked it" in str(recorded.store.failure)
    gauges = read_run(recorded.run_file).gauges
    assert [gauge.value for gauge in gauges if gauge.name == "output_sps"] == [640]


def test_so_many_writes_wait_and_no_more(recorded, monkeypatch):
    monkeypatch.setattr(storing, "MOST_WAITING", 3)
    recorded.prints_in_a_second()
    with locked(recorded.run_file):
        for _ in range(5):
            recorded.prints_in_a_second()

    assert "another program has locked it" in str(recorded.store.failure)
