"""How fast the run trained, without its start-up and its warm-up."""

from __future__ import annotations

from collections.abc import Sequence

from rlprof.analysis.phases import RunPhases
from rlprof.analysis.steadiness import (
    FEWEST_BLOCKS,
    Segment,
    median_interval,
    settled_rate,
)
from rlprof.analysis.steps import StepCounts
from rlprof.model.profile import Interval, Throughput
from rlprof.model.recording import Window


def measure_throughput(
    counts: StepCounts, found: RunPhases, windows: Sequence[Window]
) -> Throughput:
    if counts.printed_rates:
        return _as_printed(counts, found, windows)
    if not counts.spans:
        return Throughput("none", counts.source, None)
    return Throughput(
        unit="steps",
        source=counts.source,
        steady_sps=_steady_sps(counts, found, windows),
        total_steps=counts.total,
        series=_series(counts, windows),
    )


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


def _steady_sps(counts: StepCounts, found: RunPhases, windows: Sequence[Window]) -> Interval | None:
    if found.steady is None:
        return None
    segments = [
        Segment(windows[i].length_us, _steps_in(counts, i))
        for i in range(found.steady.first, found.steady.last + 1)
    ]
    return settled_rate(segments, spacing_us=counts.spacing_us)


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
    )


def _spread(rates: Sequence[float]) -> Interval | None:
    """Too few rates for an interval of their median: all of them."""
    ordered = sorted(rates)
    if len(ordered) < 2:
        return None
    return Interval(ordered[len(ordered) // 2], ordered[0], ordered[-1])


def _steps_in(counts: StepCounts, window: int) -> float:
    return sum(steps[window] for steps in counts.per_window.values())


def _last_count(steps: Sequence[float]) -> int:
    return max(i for i, count in enumerate(steps) if count > 0)
