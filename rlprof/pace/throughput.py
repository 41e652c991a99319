"""The rate at which the run trained, without its start-up and its warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median_high
from typing import Final

from rlprof.model.counters import BATCHES, UPDATES
from rlprof.model.profile import Interval, Throughput
from rlprof.model.recording import Recording, Window
from rlprof.pace.phases import RunPhases
from rlprof.pace.steadiness import (
    FEWEST_BLOCKS,
    Segment,
    drift_of,
    drift_of_rates,
    median_interval,
    settled_rate,
)
from rlprof.pace.steps import StepCounts, count_events

_PAUSE: Final = 5
"""Times that a window is longer than its neighbours when rlprof stood still in it."""

_PAUSE_US: Final = 3_000_000
"""No window is planned longer than 1 s; on a crowded host rlprof comes some tenths late."""


def measure_throughput(recording: Recording, counts: StepCounts, found: RunPhases) -> Throughput:
    windows = recording.windows
    if counts.printed_rates:
        throughput = _as_printed(counts, found, windows)
    elif not counts.spans:
        throughput = Throughput("none", counts.source, None)
    else:
        segments = _steady_segments(counts, found, windows)
        throughput = Throughput(
            unit=counts.unit,
            source=counts.source,
            steady_sps=settled_rate(segments, spacing_us=counts.spacing_us),
            total_steps=counts.total,
            series=_series(counts, windows),
            drift=drift_of(segments, spacing_us=counts.spacing_us),
        )
    return replace(
        throughput,
        updates_per_s=_rate_of(recording, UPDATES, found),
        batches_per_s=_rate_of(recording, BATCHES, found),
    )


def paused_windows(windows: Sequence[Window]) -> frozenset[int]:
    """Windows in which rlprof itself stood still: far longer than planned and than both neighbours.

    A merged window has neighbours of its own length.
    """
    return frozenset(
        window.id
        for before, window, after in zip(windows, windows[1:], windows[2:], strict=False)
        if window.length_us > max(_PAUSE_US, _PAUSE * before.length_us, _PAUSE * after.length_us)
    )


def _rate_of(recording: Recording, name: str, found: RunPhases) -> Interval | None:
    """Events of one counter per second of the steady phase; ``None`` when there were none in it."""
    counts = count_events(recording, name, name)
    segments = _steady_segments(counts, found, recording.windows)
    if not any(segment.steps for segment in segments):
        return None
    return settled_rate(segments, spacing_us=counts.spacing_us)


def _series(counts: StepCounts, windows: Sequence[Window]) -> tuple[tuple[int, int, float], ...]:
    first = min(span.first for span in counts.spans.values())
    first = min([first, *(w for p, w in counts.first_counts.items() if p not in counts.sparse)])
    last = max(_last_count(steps) for steps in counts.per_window.values())
    return tuple(
        (
            windows[i].start_us,
            windows[i].end_us,
            Segment(windows[i].length_us, _steps_in(counts, i)).per_second,
        )
        for i in range(first, last + 1)
    )


def _steady_segments(
    counts: StepCounts, found: RunPhases, windows: Sequence[Window]
) -> list[Segment]:
    if found.steady is None:
        return []
    paused = paused_windows(windows)
    return [
        Segment(windows[i].length_us, _steps_in(counts, i))
        for i in range(found.steady.first, found.steady.last + 1)
        if i not in paused
    ]


def _as_printed(counts: StepCounts, found: RunPhases, windows: Sequence[Window]) -> Throughput:
    """Rates that the program prints are its own: often a cumulative mean, and we cannot tell."""
    start = found.steady.first if found.steady else 0
    rates = [rate for window, rate in counts.printed_rates if window >= start]
    return Throughput(
        unit="steps",
        source=counts.source,
        steady_sps=median_interval(rates) if len(rates) >= FEWEST_BLOCKS else _spread(rates),
        series=tuple(
            (windows[window].start_us, windows[window].end_us, rate)
            for window, rate in counts.printed_rates
        ),
        drift=drift_of_rates(rates),
    )


def _spread(rates: Sequence[float]) -> Interval | None:
    """Too few rates for an interval of their median: all of them."""
    if len(rates) < 2:
        return None
    return Interval(median_high(rates), min(rates), max(rates))


def _steps_in(counts: StepCounts, window: int) -> float:
    return sum(steps[window] for steps in counts.per_window.values())


def _last_count(steps: Sequence[float]) -> int:
    return max(i for i, count in enumerate(steps) if count > 0)
