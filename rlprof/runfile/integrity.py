"""Tell whether the tables of a run file fit together: what reads a recording takes that for granted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any, Final

from rlprof.model.experiment import Experiment, TryOutcome
from rlprof.model.recording import (
    NO_PARENT,
    Counter,
    Gauge,
    MemoryGrowth,
    Recording,
    SyncSite,
    ThreadClock,
)
from rlprof.runfile.schema import LEAST_SHARE

MOST_US: Final = 1 << 58
"""9000 years: sums of such times stay below what 64 bits hold."""
_LAST_MOMENT_S: Final = 253_402_300_800.0
"""The year 10000, which no calendar has."""
_MOST_EVENTS: Final = 2.0**64
"""A count of an agent has 64 bits."""
_MOST_TORCH_WINDOWS: Final = 256
"""Each is unpacked and gone through; recorders take a few in each of a few processes."""
_MOST_WINDOWS: Final = 10_000
"""Recorders merge windows once there are some hundred; every analysis goes through all of them."""
_MOST_EXPERIMENTS: Final = 1_000
"""Each takes seconds of a training; reports have a row for each."""

_TUPLES: Final = {
    "clocks": ThreadClock,
    "counters": Counter,
    "gauges": Gauge,
    "memory": MemoryGrowth,
    "sync_sites": SyncSite,
}
_TYPES: Final = {"int": frozenset({int}), "float": frozenset({int, float}), "str": frozenset({str})}


def check_integrity(recording: Recording) -> None:
    """Raise ``ValueError`` for a recording that no recorder wrote."""
    wrong = next(_faults(recording), None)
    if wrong:
        raise ValueError(wrong)


def _faults(recording: Recording) -> Iterator[str]:
    """Yield what is wrong. Tables may be long, so each is looked at as cheaply as it can be."""
    yield from _of_the_run(recording)
    for name in ("processes", "threads", "nodes", "windows"):
        if any(row.id != number for number, row in enumerate(getattr(recording, name))):
            yield f"its {name} are not numbered one after the other"
    yield from _of_rows(recording)
    yield from _of_references(recording)
    yield from _of_times(recording)
    yield from _of_experiments(recording.experiments)


def _of_the_run(recording: Recording) -> Iterator[str]:
    run = recording.run
    texts: tuple[Any, ...] = (run.id, run.script, run.cwd, run.rlprof_version, *run.command)
    maps: tuple[Any, ...] = (run.host, run.environment, run.settings)
    optional: tuple[Any, ...] = (run.label, run.git)
    if not all(isinstance(text, str) for text in texts):
        yield "what it says of the run is no text"
    if not all(text is None or isinstance(text, str) for text in optional):
        yield "the label or the commit is no text"
    if not all(isinstance(table, dict) and _has_texts(table) for table in maps):
        yield "what it says of the machine or the settings is no table of texts"
    if not isinstance(run.wall_us, int) or not 0 <= run.wall_us <= MOST_US:
        yield f"the run took {run.wall_us} µs"
    begun: Any = run.started_unix_s
    if not isinstance(begun, (int, float)) or not 0 <= begun < _LAST_MOMENT_S:
        yield f"the run began at {begun}"
    if not isinstance(run.exit_code, (int, type(None))):
        yield "the exit code is no number"
    if not isinstance(run.told_to_end_us, (int, type(None))):
        yield "the time at which it was told to end is no number"
    if not isinstance(recording.overhead, dict) or not all(
        isinstance(value, (int, float)) and abs(value) <= _MOST_EVENTS
        for value in recording.overhead.values()
    ):
        yield "the cost of recording is no table of numbers"


def _has_texts(table: dict[Any, Any]) -> bool:
    return all(isinstance(text, str) for text in (*table, *table.values()))


def _of_rows(recording: Recording) -> Iterator[str]:
    for name in ("processes", "threads", "windows", "torch_windows"):
        rows: Sequence[Any] = getattr(recording, name)
        for row in rows:
            if any(not _fits(row, field.name, str(field.type)) for field in fields(row)):
                yield f"a row of its {name} has a value of another type"
    for name, kind in _TUPLES.items():
        # By columns: there may be many rows.
        columns = zip(*getattr(recording, name), strict=True)
        for declared, column in zip(_declared(kind), columns, strict=False):
            if not _TYPES[declared].issuperset(map(type, column)):
                yield f"a row of its {name} has a value of another type"
    for node in recording.nodes:
        if not isinstance(node.parent, int):
            yield "a call has a caller that is no number"
        file, function, line = node.frame
        if not (isinstance(file, str) and isinstance(function, str) and isinstance(line, int)):
            yield "a frame is no text"
    values: list[Any] = [counter.value for counter in recording.counters]
    values += [gauge.value for gauge in recording.gauges]
    if not all(isinstance(value, (int, float)) and abs(value) <= _MOST_EVENTS for value in values):
        yield "a counter or a gauge is no number"
    for value in recording.values:
        told = (value.file, value.function, value.operand, *value.fields, *value.fields.values())
        numbers = (value.process, value.line, value.first_us, value.last_us, value.looks)
        if not (
            all(isinstance(text, str) for text in told)
            and all(isinstance(number, int) for number in numbers)
        ):
            yield "a value seen is neither text nor number"
    texts = (
        *recording.sources.items(),
        *((note.level, note.slug, note.text) for note in recording.notes),
    )
    if not all(isinstance(text, str) for row in texts for text in row):
        yield "a source or a note is no text"


def _declared(kind: Any) -> list[str]:
    """The types of a named tuple's fields, by name."""
    return [
        str(getattr(declared, "__forward_arg__", declared))
        for declared in kind.__annotations__.values()
    ]


def _fits(row: Any, name: str, declared: str) -> bool:
    value = getattr(row, name)
    if declared.startswith("tuple"):
        return all(isinstance(text, str) for text in value)
    kinds = {"int": int, "str": str, "bool": int, "bytes": bytes}
    allowed = tuple(kinds[kind] for kind in declared.split(" | ") if kind in kinds)
    return not allowed or isinstance(value, allowed) or (value is None and "None" in declared)


def _of_references(recording: Recording) -> Iterator[str]:
    processes, threads = len(recording.processes), len(recording.threads)
    nodes, windows = len(recording.nodes), len(recording.windows)
    samples = recording.samples
    if any(not NO_PARENT <= node.parent < node.id for node in recording.nodes):
        yield "a call is its own caller, or is called from nowhere"
    named: tuple[tuple[str, int, Sequence[int]], ...] = (
        ("process", processes, [thread.process for thread in recording.threads]),
        ("process", processes, [window.process for window in recording.torch_windows]),
        ("process", processes, [site.process for site in recording.sync_sites]),
        ("process", processes, [value.process for value in recording.values]),
        # Gauges of the host and steps that are read from the output name the first process, though
        # a program without Python has none.
        ("process", max(1, processes), [counter.process for counter in recording.counters]),
        ("process", max(1, processes), [gauge.process for gauge in recording.gauges]),
        ("thread", threads, samples.thread),
        ("thread", threads, [clock.thread for clock in recording.clocks]),
        ("thread", threads, [growth.thread for growth in recording.memory]),
        ("node", nodes, samples.node),
        ("node", nodes, [growth.node for growth in recording.memory]),
        ("window", windows, samples.window),
        ("window", windows, [clock.window for clock in recording.clocks]),
        ("window", windows, [counter.window for counter in recording.counters]),
        ("window", windows, [gauge.window for gauge in recording.gauges]),
    )
    for what, count, numbers in named:
        if numbers and not (min(numbers) >= 0 and max(numbers) < count):
            yield f"a row names a {what} that is not there"


def _of_times(recording: Recording) -> Iterator[str]:
    if len(recording.windows) > _MOST_WINDOWS:
        yield f"it has {len(recording.windows)} windows, and recorders keep some hundred"
    if len(recording.torch_windows) > _MOST_TORCH_WINDOWS:
        yield f"it has {len(recording.torch_windows)} windows of torch's profiler"
    end = 0
    for window in recording.windows:
        if not end <= window.start_us < window.end_us <= MOST_US:
            yield "its windows do not lie one after the other"
        end = window.end_us
    samples = recording.samples
    for column in (samples.wall_us, samples.idle_us, samples.cpu_us):
        if column and (min(column) < 0 or sum(column) > MOST_US):
            yield "its times are negative, or add up to thousands of years"


def _of_experiments(experiments: Sequence[Experiment]) -> Iterator[str]:
    if len(experiments) > _MOST_EXPERIMENTS:
        yield f"it has {len(experiments)} experiments"
    for experiment in experiments:
        texts: tuple[Any, ...] = (
            experiment.finding,
            experiment.file,
            experiment.function,
            experiment.treatment,
            experiment.note,
        )
        if not all(isinstance(text, str) for text in texts):
            yield "a name or a note of an experiment is no text"
        counts: tuple[Any, ...] = (experiment.line, experiment.pairs)
        if not all(isinstance(number, int) for number in counts):
            yield "the line or the pairs of an experiment are no whole number"
        numbers: tuple[Any, ...] = (*counts, experiment.slot_s, experiment.seconds)
        if not all(_is_number(number) and 0 <= number <= _MOST_EVENTS for number in numbers):
            yield "a length of an experiment is no number, or negative"
        predicted, measured = experiment.predicted, experiment.measured
        if not _are_shares(predicted or ()):
            yield "an experiment was predicted to save no share of the time"
        ends = (measured.low, measured.median, measured.high) if measured else ()
        if not _are_shares(ends):
            yield "an experiment measured no share of the time"
        may_measure = experiment.outcome in (TryOutcome.MEASURED, TryOutcome.NOT_CLEAR)
        must_measure = experiment.outcome is TryOutcome.MEASURED
        if (measured is None and must_measure) or (measured is not None and not may_measure):
            yield f"an experiment that is {experiment.outcome.value} does not measure so"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and isfinite(value)


def _are_shares(shares: Sequence[Any]) -> bool:
    """Tell whether ``shares`` may be parts of the time, the least of them first."""
    return all(_is_number(share) and LEAST_SHARE <= share <= 1 for share in shares) and (
        list(shares) == sorted(shares)
    )
