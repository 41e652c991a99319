"""The memory view: peaks, growth over the steady phase and how steady it is, and the lines that grew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Final

from rlprof.model import gauges as names
from rlprof.model.memory import GrownLine, MemoryTrend, MemoryView, ProcessMemory
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT, MemoryGrowth, Node, Recording, Window
from rlprof.pace.times import importing_nodes
from rlprof.source.lines import Line, UserLines

BINS: Final = 30
"""Points that a series is reduced to, at equal distances: windows are short at the start of a run
and long later, and the slopes of all pairs of hundreds would take long to sort."""

MIN_IN_A_THIRD: Final = 3
"""Points below which the median of a third of the phase may be an odd one."""

LEVELLING: Final = 0.5
"""Part of the whole slope that each part of the phase must reach to be called steady. A level that
nears a ceiling by half in each third of the time falls short of it, a wavy line does not."""

HOUR_US: Final = 3_600_000_000

LIVED_THROUGH: Final = 0.8
"""Part of the steady phase for which a process must have been there to have a trend of its own."""

MIN_STEADY_US: Final = 20_000_000
"""Allocators, caches and the first episodes take some seconds to reach their size."""

MIN_GROWTH_BYTES: Final = 16 << 20
"""Over the steady phase. Python takes memory 1 MiB at a time and glibc in steps of up to some MiB, so
less than a dozen of them may be anything."""

MIN_LINE_SHARE: Final = 0.05
"""Least share of the growth seen: lines with less are not listed."""

Series = Mapping[int, float]
"""A gauge of one process: its value by window."""

_Memory = Mapping[int, Series]
"""Bytes by process and window."""


def measure_memory(recording: Recording, profile: Profile) -> MemoryView | None:
    """The memory view of a run whose ``profile`` is built; None where nobody measured memory."""
    rss = _by_process(recording, names.RSS_BYTES)
    if not rss:
        return None
    steady = _steady_windows(profile)
    pss = _by_process(recording, names.PSS_BYTES)
    own = {process: _shared_out(series, pss.get(process, {})) for process, series in rss.items()}
    sums = _sum_up(own)
    peak_window = max(sums, key=lambda window: (sums[window], -window))
    its_own = _without_windows(recording, rss)
    processes = _processes(recording, profile, steady, rss, pss, its_own)
    # Not of what is shared out: that changes with processes outside of the run that map the same files.
    trend = _trend(_sum_up(its_own), steady)
    is_growing = any(process.growth is not None for process in processes)
    available = _by_process(recording, names.HOST_MEMORY_AVAILABLE_BYTES).get(0, {})
    return MemoryView(
        peak_bytes=sums[peak_window],
        is_shared_out=len(rss) == 1 or all(process in pss for process in rss),
        processes=processes,
        trend=trend,
        is_growing=is_growing and _is_clear(trend, profile.steady_us),
        bytes_per_step=_per_step(trend, profile),
        lines=_grown_lines(_growth_without_windows(recording, rss), profile, _growing(processes)),
        available_bytes=_last(available, steady),
    )


def _by_process(recording: Recording, name: str) -> dict[int, dict[int, float]]:
    found: dict[int, dict[int, float]] = {}
    for gauge in recording.gauges:
        if gauge.name == name:
            found.setdefault(gauge.process, {})[gauge.window] = gauge.value
    return found


def _steady_windows(profile: Profile) -> list[Window]:
    spans = [
        (phase.start_us, phase.end_us) for phase in profile.phases if phase.kind is PhaseKind.STEADY
    ]
    return [
        window
        for window in profile.windows
        if any(start <= window.start_us and window.end_us <= end for start, end in spans)
    ]


def _shared_out(rss: Series, pss: Series) -> Series:
    """Resident memory less what is shared with others, by the last time that was asked for.

    Between two times only the process's own part is taken to change.
    """
    if not pss:
        return rss
    asked = sorted(window for window in pss if window in rss)
    if not asked:
        return rss
    shared = {window: rss[window] - pss[window] for window in asked}
    own: dict[int, float] = {}
    of_others = shared[asked[0]]
    for window in sorted(rss):
        of_others = shared.get(window, of_others)
        own[window] = max(0.0, rss[window] - of_others)
    return own


def _sum_up(own: _Memory) -> dict[int, float]:
    sums: dict[int, float] = defaultdict(float)
    for series in own.values():
        for window, level in series.items():
            sums[window] += level
    return sums


def _trend(series: Series, steady: Sequence[Window]) -> MemoryTrend | None:
    known = [window for window in steady if window.id in series]
    there = sum(window.length_us for window in known)
    if not known or there < LIVED_THROUGH * sum(window.length_us for window in steady):
        return None
    return memory_trend([(window.end_us, series[window.id]) for window in known])


def _is_clear(trend: MemoryTrend | None, steady_us: int) -> bool:
    """Tell whether enough was seen of it to say how much that is in an hour."""
    return (
        trend is not None
        and trend.is_steady
        and trend.grown_bytes >= MIN_GROWTH_BYTES
        and steady_us >= MIN_STEADY_US
    )


def _processes(
    recording: Recording,
    profile: Profile,
    steady: Sequence[Window],
    rss: _Memory,
    pss: _Memory,
    its_own: _Memory,
) -> tuple[ProcessMemory, ...]:
    peaks = _by_process(recording, names.PEAK_RSS_BYTES)
    virtual = _by_process(recording, names.VIRTUAL_BYTES)
    found = [
        ProcessMemory(
            process=process,
            role=profile.process_roles.get(process, ""),
            peak_rss_bytes=max([*series.values(), *peaks.get(process, {}).values()]),
            peak_pss_bytes=max(pss.get(process, {}).values(), default=None),
            trend=_trend(its_own[process], steady),
            virtual_trend=_trend(virtual.get(process, {}), steady),
        )
        for process, series in rss.items()
    ]
    return tuple(sorted(found, key=lambda process: (-process.peak_rss_bytes, process.process)))


def _growing(processes: Sequence[ProcessMemory]) -> frozenset[int]:
    """Processes that grow steadily, or all where none does."""
    growing = [
        process.process
        for process in processes
        if process.trend is not None and process.trend.is_steady
    ]
    return frozenset(growing or [process.process for process in processes])


def _per_step(trend: MemoryTrend | None, profile: Profile) -> float | None:
    if trend is None or not profile.steady_steps:
        return None
    return trend.bytes_per_hour / HOUR_US * profile.steady_us / profile.steady_steps


def _last(series: Series, steady: Iterable[Window]) -> float | None:
    known = [window.id for window in steady if window.id in series] or sorted(series)
    return series[known[-1]] if known else None


def _grown_lines(
    growth: Iterable[MemoryGrowth], profile: Profile, growing: frozenset[int]
) -> tuple[GrownLine, ...]:
    """The user's lines with growth, of places that run in the steady phase too.

    The sampler's sums are of the whole run: what only start-up did is left out by its stacks.
    """
    lines = UserLines.of(profile, profile.whole)
    busy: dict[Line, int] = defaultdict(int)
    running: dict[tuple[int, int], Line] = {}
    for activity in profile.activities:
        if activity.process not in growing:
            continue
        for node, cost in activity.tree.self_costs():
            owner = lines.owner(node)
            if owner != NO_PARENT:
                line = running[activity.thread, node] = lines.line(owner)
                busy[line] += cost.busy_us
    grown: dict[Line, int] = defaultdict(int)
    for row in growth:
        found = running.get((row.thread, row.node))
        if found is not None:
            grown[found] += row.grown_bytes - row.released_bytes
    return _heaviest(grown, busy, lines)


def _heaviest(
    grown: Mapping[Line, int], busy: Mapping[Line, int], lines: UserLines
) -> tuple[GrownLine, ...]:
    risen = {line: change for line, change in grown.items() if change > 0}
    whole, busy_us = sum(risen.values()), max(1, sum(busy.values()))
    ranked = sorted(risen.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        GrownLine(
            file=line.file,
            line=line.line,
            function=line.function,
            source=lines.text(line),
            grown_bytes=change,
            share_of_growth=change / whole,
            share_of_time=busy[line] / busy_us,
        )
        for line, change in ranked
        if change >= MIN_LINE_SHARE * whole
    )


def _without_windows(recording: Recording, rss: _Memory) -> dict[int, Series]:
    """Resident memory by process as it would have been: what was taken across a window of torch's
    profiler is taken off all that comes after. What the program itself took meanwhile goes with it.
    """
    taken = _taken(recording, rss)
    return {
        process: {
            window: level - sum(size for at, size in taken.get(process, ()) if window >= at)
            for window, level in series.items()
        }
        for process, series in rss.items()
    }


def _growth_without_windows(recording: Recording, rss: _Memory) -> tuple[MemoryGrowth, ...]:
    """The growth by node less what windows took: off the places in torch that grew most, for a window
    begins and ends in the optimizer and its memory is taken by operations.
    """
    left = {process: sum(size for _, size in of) for process, of in _taken(recording, rss).items()}
    if not left:
        return recording.memory
    in_torch = _nodes_in_torch(recording.nodes)
    rows = []
    for row in sorted(recording.memory, key=lambda growth: -growth.grown_bytes):
        process = recording.threads[row.thread].process
        if row.node in in_torch and left.get(process, 0.0) > 0:
            off = min(row.grown_bytes, round(left[process]))
            left[process] -= off
            rows.append(row._replace(grown_bytes=row.grown_bytes - off))
        else:
            rows.append(row)
    return tuple(rows)


def _taken(recording: Recording, rss: _Memory) -> dict[int, list[tuple[int, float]]]:
    """(first window after it, bytes) of each window of the profiler that left memory behind."""
    found: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for torch_window in recording.torch_windows:
        series = rss.get(torch_window.process, {})
        before = _last_before(recording.windows, series, torch_window.begun_us)
        after = _first_after(recording.windows, series, torch_window.ended_us)
        if before is not None and after is not None and series[after] > series[before]:
            found[torch_window.process].append((after, series[after] - series[before]))
    return found


def _last_before(windows: Sequence[Window], series: Series, at_us: int) -> int | None:
    ids = (
        window.id for window in reversed(windows) if window.end_us <= at_us and window.id in series
    )
    return next(ids, None)


def _first_after(windows: Sequence[Window], series: Series, at_us: int) -> int | None:
    return next(
        (window.id for window in windows if window.start_us >= at_us and window.id in series), None
    )


def _nodes_in_torch(nodes: Sequence[Node]) -> frozenset[int]:
    """Imports of it left out: they take most memory of all, long before the first window."""
    importing = importing_nodes(nodes)
    found: set[int] = set()
    for node in nodes:
        is_torch = "/torch/" in node.frame.file or node.parent in found
        if is_torch and not importing[node.id]:
            found.add(node.id)
    return frozenset(found)


def memory_trend(points: Sequence[tuple[int, float]]) -> MemoryTrend | None:
    """The trend of ``points``, (µs, bytes) in order; None where there are too few of them."""
    if len(points) < 2:
        return None
    thirds = _thirds(points)
    if min(map(len, thirds)) < MIN_IN_A_THIRD:
        return None
    every = [point for third in thirds for point in third]
    slope = _theil_sen(every)
    middles = [
        (median(at for at, _ in third), median(level for _, level in third)) for third in thirds
    ]
    parts = [
        _slope(middles[0], middles[1]),
        _slope(middles[1], middles[2]),
        # Or a level that has been reached within the last third would pass for growth.
        _theil_sen(thirds[2]),
    ]
    return MemoryTrend(
        bytes_per_hour=slope * HOUR_US,
        low=min(slope, *parts) * HOUR_US,
        high=max(slope, *parts) * HOUR_US,
        grown_bytes=slope * (points[-1][0] - points[0][0]),
        is_steady=slope > 0 and min(parts) >= LEVELLING * slope,
    )


def _thirds(points: Sequence[tuple[int, float]]) -> list[list[tuple[float, float]]]:
    """The means of equal slices of time, by third of the time; empty slices are left out."""
    start, length = points[0][0], points[-1][0] - points[0][0] + 1
    bins: dict[int, list[tuple[int, float]]] = {}
    for at, level in points:
        bins.setdefault((at - start) * BINS // length, []).append((at, level))
    thirds: list[list[tuple[float, float]]] = [[], [], []]
    for number, found in sorted(bins.items()):
        mean = (fmean(at for at, _ in found), fmean(level for _, level in found))
        thirds[number * 3 // BINS].append(mean)
    return thirds


def _theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """Median slope over all pairs of points (Theil 1950, Sen 1968): up to 29 % of them may be odd."""
    return median(_slope(earlier, later) for earlier, later in combinations(points, 2))


def _slope(earlier: tuple[float, float], later: tuple[float, float]) -> float:
    return (later[1] - earlier[1]) / max(1.0, later[0] - earlier[0])
