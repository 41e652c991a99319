"""A recording without the time in which a profiler of rlprof's slowed the program down."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, compress
from typing import Final, TypeVar

from rlprof.model.recording import (
    Counter,
    Gauge,
    Recording,
    Samples,
    ThreadClock,
    TorchWindow,
    Window,
)

MOST_CUT: Final = 0.3
"""Part of the run that may be left out. Of a run that hardly lasts longer than its windows more is
lost by cutting than by keeping what they slowed."""

_Row = TypeVar("_Row", ThreadClock, Counter, Gauge)


def at_own_pace(recording: Recording) -> Recording:
    """``recording`` as if the stretches under torch's profiler had not been: its windows that
    overlap one are gone, and what comes after moves up, the run's length included.

    Everything is cut for all processes: others may have waited for the one under the profiler.
    """
    slowed = tuple(_overlapping(recording.windows, recording.torch_windows))
    cut_us = sum(recording.windows[window].length_us for window in slowed)
    if not slowed or cut_us > MOST_CUT * recording.run.wall_us:
        return recording
    return _without(recording, frozenset(slowed))


def _overlapping(windows: Sequence[Window], slowed: Iterable[TorchWindow]) -> Iterable[int]:
    spans = [(stretch.begun_us, stretch.ended_us) for stretch in slowed]
    for window in windows:
        if any(begun < window.end_us and ended > window.start_us for begun, ended in spans):
            yield window.id


def _without(recording: Recording, cut: frozenset[int]) -> Recording:
    windows = recording.windows
    kept = [window.id not in cut for window in windows]
    new_id = [count - 1 for count in accumulate(map(int, kept))]
    starts = [window.start_us for window in windows]
    gone = [
        0,
        *accumulate(
            0 if is_kept else w.length_us for w, is_kept in zip(windows, kept, strict=True)
        ),
    ]

    def moved(at_us: int) -> int:
        """The same moment, less what was cut before it."""
        last = bisect_right(starts, at_us) - 1
        if last < 0:
            return at_us
        return starts[last] - gone[last] if not kept[last] else at_us - gone[last]

    def of_kept(rows: Iterable[_Row]) -> tuple[_Row, ...]:
        return tuple(row._replace(window=new_id[row.window]) for row in rows if kept[row.window])

    return replace(
        recording,
        run=replace(recording.run, wall_us=moved(recording.run.wall_us)),
        processes=tuple(
            replace(
                process,
                started_us=moved(process.started_us),
                ended_us=None if process.ended_us is None else moved(process.ended_us),
            )
            for process in recording.processes
        ),
        windows=tuple(
            Window(
                new_id[window.id], moved(window.start_us), moved(window.start_us) + window.length_us
            )
            for window in windows
            if kept[window.id]
        ),
        samples=_samples(recording.samples, kept, new_id),
        clocks=of_kept(recording.clocks),
        counters=of_kept(recording.counters),
        gauges=of_kept(recording.gauges),
        torch_windows=tuple(
            replace(window, begun_us=moved(window.begun_us), ended_us=moved(window.begun_us))
            for window in recording.torch_windows
        ),
    )


def _samples(samples: Samples, kept: Sequence[bool], new_id: Sequence[int]) -> Samples:
    result = Samples()
    chosen = [kept[window] for window in samples.window]
    result.window.extend(new_id[window] for window in compress(samples.window, chosen))
    for name in ("thread", "node", "wall_us", "idle_us", "cpu_us"):
        getattr(result, name).extend(compress(getattr(samples, name), chosen))
    return result
