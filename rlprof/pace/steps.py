"""Steps as the recording counted them: which source, and how many in each window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from rlprof.libraries.step_sources import STEP_SOURCES, source_of
from rlprof.model.counters import (
    EVALUATION_STEPS,
    ITERATIONS,
    OUTPUT_STEPS,
    STEPS_RECOGNISED,
    UPDATES,
)
from rlprof.model.gauges import OUTPUT_SPS
from rlprof.model.recording import Recording, Window

_PARTIAL: Final = 0.8
"""A first or last window with less than this part of the usual rate holds set-up or tear-down too."""

_PASSES_BY: Final = 0.1
"""Part of the run: processes that live shorter are some of many, most of which end before their steps can be recognised."""

_ENOUGH_TO_TRIM: Final = 4
"""Windows with steps below which none is given up."""


class Span(NamedTuple):
    """Windows, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class StepCounts:
    """Steps per window and process, from the one source of the run."""

    source: str
    """As in ``Throughput.source``."""
    unit: str = "steps"
    """``updates`` where optimizer steps stand in for environment steps, that nothing counted; ``iterations`` where only a
    progress bar tells anything."""
    total: float = 0.0
    per_window: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Steps of each window, by process; a count that comes late is spread over the time it is for."""
    spans: Mapping[int, Span] = field(default_factory=dict)
    """From the first to the last window which are wholly spent on steps, by process."""
    first_counts: Mapping[int, int] = field(default_factory=dict)
    """Window of the first count, by process."""
    sparse: frozenset[int] = frozenset()
    """Processes which count more seldom than every other window."""
    spacing_us: int = 0
    """Usual time between two counts of a process, the longest over processes."""
    printed_rates: tuple[tuple[int, float], ...] = ()
    """(window, steps per second) as the program printed them."""
    begins_late: bool = False
    """True if the first steps were not counted, for their place was found while the run went on."""
    known_processes: bool = True
    """True if the processes of the counts are those that make the steps: output belongs to none."""


def count_steps(recording: Recording) -> StepCounts:
    """The steps of a run from its best source; ``libraries/step_sources.py`` ranks them."""
    sources = {counter.name for counter in recording.counters if counter.value > 0}
    if _are_of_passers_by(recording):
        sources.discard(STEPS_RECOGNISED)
    name = source_of(recording, sources)
    if name is not None:
        return count_events(recording, name, STEP_SOURCES[name])
    printed = tuple(
        (gauge.window, gauge.value) for gauge in recording.gauges if gauge.name == OUTPUT_SPS
    )
    if printed:
        return StepCounts("as printed by the program", printed_rates=tuple(sorted(printed)))
    updates = count_events(recording, UPDATES, "optimizer steps")
    if updates.spans:
        return replace(updates, unit="updates")
    iterations = count_events(recording, ITERATIONS, "tqdm's progress bars")
    if iterations.spans:
        return replace(iterations, unit="iterations")
    evaluated = count_events(recording, EVALUATION_STEPS, "steps of evaluations alone")
    return evaluated if evaluated.spans else StepCounts("none")


def _are_of_passers_by(recording: Recording) -> bool:
    """Tell whether steps were recognised in processes alone that together lived for a small part of the run: others of their kind went unseen."""
    counted = {
        counter.process for counter in recording.counters if counter.name == STEPS_RECOGNISED
    }
    run_us = recording.windows[-1].end_us if recording.windows else 0
    lived_us = sum(
        (run_us if process.ended_us is None else process.ended_us) - process.started_us
        for process in recording.processes
        if process.id in counted
    )
    return lived_us < _PASSES_BY * run_us


def count_events(recording: Recording, name: str, source: str) -> StepCounts:
    """The counts of one counter, like those of steps; without spans when it never counted."""
    windows = recording.windows
    raw = _counts_of(recording, name)
    per_window, spans, sparse = {}, {}, set()
    spacing_us = 0
    for process, counts in sorted(raw.items()):
        counted = sorted(counts)
        reach = counted[-1] - counted[0] + 1
        is_sparse = len(counted) > 1 and 2 * len(counted) <= reach
        per_window[process] = _spread(counts, windows)
        if is_sparse:
            sparse.add(process)
            spacing_us = max(spacing_us, _spacing_us(counted, windows))
            # The first count is for a time that began nobody knows when.
            spans[process] = Span(counted[0] + 1, counted[-1])
        else:
            spans[process] = _trim(per_window[process], windows, Span(counted[0], counted[-1]))
    return StepCounts(
        source=source,
        total=sum(sum(counts.values()) for counts in raw.values()),
        per_window=per_window,
        spans=spans,
        first_counts={process: min(counts) for process, counts in raw.items()},
        sparse=frozenset(sparse),
        spacing_us=spacing_us,
        begins_late=name == STEPS_RECOGNISED,
        known_processes=name != OUTPUT_STEPS,
    )


def _counts_of(recording: Recording, name: str) -> dict[int, dict[int, float]]:
    """Counts of each window, by process."""
    counts: dict[int, dict[int, float]] = {}
    for counter in recording.counters:
        if counter.name == name and counter.value > 0:
            of_process = counts.setdefault(counter.process, {})
            of_process[counter.window] = of_process.get(counter.window, 0.0) + counter.value
    return counts


def _spread(counts: Mapping[int, float], windows: Sequence[Window]) -> list[float]:
    """Steps per window, each count shared over the windows since the one before, by length.

    A program that counts once per rollout reports in one window what it did in many.
    """
    steps = [0.0] * len(windows)
    counted = sorted(counts)
    previous = counted[0] - 1
    for window in counted:
        stretch = range(previous + 1, window + 1)
        length = sum(windows[i].length_us for i in stretch)
        for i in stretch:
            part = windows[i].length_us / length if length else 1 / len(stretch)
            steps[i] += counts[window] * part
        previous = window
    return steps


def _spacing_us(counted: Sequence[int], windows: Sequence[Window]) -> int:
    pairs = pairwise(counted)
    return round(
        median(windows[later].end_us - windows[earlier].end_us for earlier, later in pairs)
    )


def _trim(steps: Sequence[float], windows: Sequence[Window], span: Span) -> Span:
    """``span`` without a first and a last window that steps fill only in part."""
    inside = range(span.first, span.last + 1)
    if len(inside) < _ENOUGH_TO_TRIM:
        return span
    rates = {i: steps[i] / max(1, windows[i].length_us) for i in inside}
    usual = median(rates.values())
    first = span.first + (rates[span.first] < _PARTIAL * usual)
    last = span.last - (rates[span.last] < _PARTIAL * usual)
    return Span(first, last)
