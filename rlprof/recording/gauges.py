"""Levels and amounts that the kernel keeps anyway, window by window.

A figure that is not to be had gives no row, never a zero.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.model import gauges as names
from rlprof.model.calibration import calibrated
from rlprof.model.recording import Gauge, Window
from rlprof.recording.gpus.reader import GpuReader
from rlprof.recording.machine import host, procfs
from rlprof.recording.machine.cgroups import ControlGroups
from rlprof.recording.machine.procfs import ProcessStat
from rlprof.recording.tracked import TrackedProcess

PSS_EVERY_US: Final = 5_000_000
"""How often the proportional memory of a process is asked for at most."""

PSS_SHARE: Final = 0.002
"""Part of a core that asking for it may take, all processes together."""

MAX_PSS_RSS_BYTES: Final = calibrated(
    4 << 30,
    unit="bytes",
    source="31 ms for 1 GiB",
    date="2026-11-21",
)
"""Larger processes are not asked: the recorder would stand still for longer than samplers can hold their
output back (200 ms at the finest rate)."""


class _Totals(NamedTuple):
    """Totals that had been counted of one process when it was last looked at."""

    amounts: dict[str, int]
    pss_asked_us: int


class GaugeReader:
    """Reads the gauges of a run's processes and of its machine."""

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, gpus: GpuReader | None = None
    ) -> None:
        """``clock`` (seconds) measures what the dear figures cost."""
        self._clock = clock
        self._gpus = gpus
        self._groups = ControlGroups.ours()
        self._own_cores = procfs.read_affinity(0)
        self._seen: dict[tuple[int, int], _Totals] = {}
        self._pss_again_us = 0
        self._host_seen = dict(self._host_totals())

    def read(self, window: Window, asked: Iterable[TrackedProcess]) -> list[Gauge]:
        """The gauges of ``window``, which has just closed, of the live ones among ``asked``."""
        live = self._pss_longest_ago(asked)
        gauges = [
            Gauge(window.id, tracked.process.id, name, value)
            for tracked in live
            for name, value in self._of_process(window, tracked)
        ]
        # A gauge is of some process: the machine's are kept with the first.
        gauges += [Gauge(window.id, 0, name, value) for name, value in self._of_host()]
        if self._gpus is not None:
            pids = {tracked.pid: tracked.process.id for tracked in live}
            gauges += [Gauge(window.id, *row) for row in self._gpus.read(window.end_us, pids)]
        return gauges

    def leave_out_until_now(self) -> None:
        """Leave out what the machine did while the run stood still."""
        self._host_seen = dict(self._host_totals())

    def _pss_longest_ago(self, asked: Iterable[TrackedProcess]) -> list[TrackedProcess]:
        """Live processes in the order in which they may spend what is left for PSS."""
        live = []
        for tracked in asked:
            if tracked.is_alive:
                live.append(tracked)
            else:
                self._seen.pop(_key(tracked), None)
        return sorted(live, key=lambda process: self._totals(process).pss_asked_us)

    def _totals(self, tracked: TrackedProcess) -> _Totals:
        return self._seen.get(_key(tracked), _Totals({}, -PSS_EVERY_US))

    def _of_process(self, window: Window, tracked: TrackedProcess) -> Iterator[tuple[str, float]]:
        stat = procfs.read_stat(tracked.pid)
        if stat is None or stat.has_ended or stat.start_ticks != tracked.start_ticks:
            return
        yield names.RSS_BYTES, stat.rss_bytes
        yield names.VIRTUAL_BYTES, stat.virtual_bytes
        yield names.THREADS, stat.threads
        amounts = {names.CPU_US: stat.cpu_us}
        status = procfs.read_status(tracked.pid)
        if status is not None:
            # The kernel folds a thread's count of pages in with a delay, so rss may be ahead.
            yield names.PEAK_RSS_BYTES, max(status.peak_rss_bytes, stat.rss_bytes)
            amounts[names.VOLUNTARY_SWITCHES] = status.voluntary_switches
            amounts[names.INVOLUNTARY_SWITCHES] = status.involuntary_switches
        transfers = procfs.read_transfers(tracked.pid)
        if transfers is not None:
            amounts[names.READ_BYTES], amounts[names.WRITTEN_BYTES] = transfers
        seen = self._totals(tracked)
        # All of a process's life is within the run: what it did before it was found counts too.
        yield from _grown(amounts, dict.fromkeys(amounts, 0) | seen.amounts)
        cores = procfs.read_affinity(tracked.pid)
        if cores is not None and cores != self._own_cores:
            yield names.AFFINITY_CORES, cores
        pss_asked_us = seen.pss_asked_us
        if self._may_ask_pss(window.end_us, seen, stat):
            pss_asked_us = window.end_us
            pss = self._ask_pss(window.end_us, tracked.pid)
            if pss is not None:
                yield names.PSS_BYTES, pss
        self._seen[_key(tracked)] = _Totals(amounts, pss_asked_us)

    def _may_ask_pss(self, now_us: int, seen: _Totals, stat: ProcessStat) -> bool:
        return (
            now_us >= self._pss_again_us
            and now_us - seen.pss_asked_us >= PSS_EVERY_US
            and stat.rss_bytes <= MAX_PSS_RSS_BYTES
        )

    def _ask_pss(self, now_us: int, pid: int) -> int | None:
        before = self._clock()
        pss = procfs.read_pss_bytes(pid)
        cost_us = (self._clock() - before) * 1e6
        self._pss_again_us = now_us + round(cost_us / PSS_SHARE)
        return pss

    def _of_host(self) -> Iterator[tuple[str, float]]:
        totals = dict(self._host_totals())
        yield from _grown(totals, self._host_seen)
        self._host_seen = totals
        queue = host.run_queue()
        if queue is not None:
            yield names.HOST_RUN_QUEUE, queue
        memory = host.available_memory_bytes(self._groups)
        if memory is not None:
            yield names.HOST_MEMORY_AVAILABLE_BYTES, memory

    def _host_totals(self) -> Iterator[tuple[str, int]]:
        for name, total in (
            (names.HOST_CPU_US, host.busy_cpu_us()),
            (names.HOST_THROTTLED_US, self._groups.throttled_us()),
        ):
            if total is not None:
                yield name, total


def _grown(now: dict[str, int], before: dict[str, int]) -> Iterator[tuple[str, float]]:
    """Return what was counted since ``before``. Counters of the kernel may step back by a tick."""
    for name, total in now.items():
        if name in before:
            yield name, max(0, total - before[name])


def _key(tracked: TrackedProcess) -> tuple[int, int]:
    """Names the process across an exec: the kernel's counts go on."""
    return tracked.pid, tracked.start_ticks
