from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pytest

from rlprof.model import gauges as names
from rlprof.model.recording import Thread, Window
from rlprof.recording import gauges
from rlprof.recording.gauges import PSS_EVERY_US, GaugeReader
from rlprof.recording.machine import procfs
from rlprof.recording.stacks import StackTable
from rlprof.recording.tracked import TrackedProcess
from tests.factories import a_run

SECOND = 1_000_000
OF_A_PROCESS = {
    names.CPU_US, names.RSS_BYTES, names.PEAK_RSS_BYTES, names.VIRTUAL_BYTES, names.THREADS,
    names.VOLUNTARY_SWITCHES, names.INVOLUNTARY_SWITCHES,
}  # fmt: skip
"""What the kernel tells of any process of the same user."""


@pytest.fixture
def this_process() -> TrackedProcess:
    (process,) = a_run().process().recording().processes
    stat = procfs.read_stat(os.getpid())
    assert stat is not None
    return TrackedProcess(
        replace(process, pid=os.getpid(), ended_us=None),
        start_ticks=stat.start_ticks,
        mailbox=None,
        stacks=StackTable(),
        new_thread=partial(Thread, 0),
    )


class Kernel:
    """Stands in for what is dear to ask: the proportional memory, at a cost in fake time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, cost_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.asked: list[int] = []
        self._cost_s = cost_s
        monkeypatch.setattr(procfs, "read_pss_bytes", self._read_pss)

    def clock(self) -> float:
        return self.now_s

    def _read_pss(self, pid: int) -> int | None:
        self.asked.append(pid)
        self.now_s += self._cost_s
        return 4096


def read(
    reader: GaugeReader, at_s: float, processes: Iterable[TrackedProcess]
) -> dict[tuple[int, str], float]:
    window = Window(0, 0, round(at_s * SECOND))
    return {(gauge.process, gauge.name): gauge.value for gauge in reader.read(window, processes)}


def names_of(found: dict[tuple[int, str], float]) -> set[str]:
    return {name for _, name in found if not name.startswith("host_")}


def test_what_a_process_used_since_the_last_window(this_process):
    reader = GaugeReader()

    first = read(reader, 1, [this_process])
    second = read(reader, 2, [this_process])

    assert names_of(first) >= OF_A_PROCESS
    # Its CPU time began before it was known; from then on a window has its own alone.
    assert first[0, names.CPU_US] > second[0, names.CPU_US] >= 0
    assert second[0, names.PEAK_RSS_BYTES] >= second[0, names.RSS_BYTES] > 0
    assert second[0, names.VIRTUAL_BYTES] > second[0, names.RSS_BYTES]


def test_what_the_kernel_does_not_tell_gives_no_row(this_process, monkeypatch):
    monkeypatch.setattr(procfs, "read_transfers", lambda _pid: None)
    monkeypatch.setattr(procfs, "read_pss_bytes", lambda _pid: None)
    monkeypatch.setattr(procfs, "read_status", lambda _pid: None)

    found = read(GaugeReader(), 1, [this_process])

    assert names_of(found) == {
        names.CPU_US, names.RSS_BYTES, names.VIRTUAL_BYTES, names.THREADS,
    }  # fmt: skip


def test_a_process_that_has_ended_has_no_gauges(this_process):
    this_process.process = replace(this_process.process, ended_us=1)

    assert names_of(read(GaugeReader(), 1, [this_process])) == set()


def test_a_pid_that_another_process_got_is_not_taken_for_it(this_process):
    this_process.start_ticks -= 1

    assert names_of(read(GaugeReader(), 1, [this_process])) == set()


def test_proportional_memory_is_asked_for_every_few_seconds(this_process, monkeypatch):
    kernel = Kernel(monkeypatch)
    reader = GaugeReader(kernel.clock)

    told = [
        (0, names.PSS_BYTES) in read(reader, at / 2, [this_process])
        for at in range(2 * 2 * PSS_EVERY_US // SECOND + 1)
    ]

    assert told.count(True) == len(kernel.asked) == 3


def test_proportional_memory_never_takes_more_than_its_share(this_process, monkeypatch):
    kernel = Kernel(monkeypatch, cost_s=0.2)
    reader = GaugeReader(kernel.clock)

    for at_s in range(200):
        read(reader, at_s, [this_process])

    assert 2 <= len(kernel.asked) <= gauges.PSS_SHARE * 200 / 0.2


def test_large_processes_are_not_asked(this_process, monkeypatch):
    kernel = Kernel(monkeypatch)
    monkeypatch.setattr(gauges, "MAX_PSS_RSS_BYTES", 1)

    read(GaugeReader(kernel.clock), 1, [this_process])

    assert kernel.asked == []


def test_cores_are_told_only_where_they_are_not_those_of_the_run(this_process, monkeypatch):
    reader = GaugeReader()
    usual = names_of(read(reader, 1, [this_process]))
    monkeypatch.setattr(procfs, "read_affinity", lambda _pid: 1_000)

    pinned = read(reader, 2, [this_process])

    assert names.AFFINITY_CORES not in usual
    assert pinned[0, names.AFFINITY_CORES] == 1_000


def test_the_machine_is_told_with_the_first_process():
    reader = GaugeReader()

    found = read(reader, 1, [])

    assert found[0, names.HOST_MEMORY_AVAILABLE_BYTES] > 0
    assert found[0, names.HOST_RUN_QUEUE] >= 1  # This very thread runs.
    assert found[0, names.HOST_CPU_US] >= 0
