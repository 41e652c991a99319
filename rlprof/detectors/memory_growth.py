"""Resident memory that grows all through training and does not level off."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.growing import Addition, additions
from rlprof.model.finding import Confidence, Finding, Location
from rlprof.model.memory import GrownLine, MemoryTrend, MemoryView, ProcessMemory
from rlprof.model.profile import Profile
from rlprof.profile.memory import HOUR_US
from rlprof.source.lines import Line, UserLines, last_name, short_place
from rlprof.units import duration, percent, rough_duration, size

HORIZON_H: Final = 72.0
"""Longest time that counts to fill the memory there is: growth that needs more will rarely meet a training that long."""

FARTHEST: Final = 100.0
"""Times the steady phase to which growth is taken to go on as it was: a table of states that were met grows for half a minute, too."""

MOST_OF_THE_TIME: Final = 0.8
"""Part of a thread's time from which on a function is one that trains, so that what it keeps in
variables of its own is kept for long."""

SHOWN_PROCESSES: Final = 3
SHOWN_PLACES: Final = 3

_LOSS: Final = re.compile(r"\bloss\w*|\w+_loss\b")
_DETACHED: Final = re.compile(r"\.(item|detach|tolist|cpu|numpy)\(|\bfloat\(")


class _GrowingProcess(NamedTuple):
    process: ProcessMemory
    trend: MemoryTrend


def detect(profile: Profile) -> Iterable[Finding]:
    memory = profile.memory
    if memory is None or memory.trend is None or not memory.is_growing:
        return
    trend = memory.trend
    growing = _growing(memory.processes)
    hours = _hours_left(memory, trend)
    if hours is not None and hours > min(HORIZON_H, FARTHEST * profile.steady_us / HOUR_US):
        return
    lines = UserLines.of(profile, profile.whole)
    adding = _adding_places(profile, growing, lines)
    told = [line for line in memory.lines if line.stands_out]
    named = _locations(adding, told)
    yield Finding(
        title=_title(trend, hours),
        savings=(),
        # It takes none of the time: growing memory is no slower until there is no more of it.
        locations=tuple(Location(*line, share=0.0, source=lines.text(line)) for line in named),
        evidence=(*_evidence(profile, memory, trend, growing), *_where(memory, adding, told)),
        fix=_fix(adding),
        confidence=Confidence.MEASURED if adding or told else Confidence.BOUNDED,
    )


def _growing(processes: Sequence[ProcessMemory]) -> list[_GrowingProcess]:
    """Processes that grow steadily into new addresses, the fastest first."""
    found = [
        _GrowingProcess(process, process.growth)
        for process in processes
        if process.growth is not None
    ]
    return sorted(found, key=lambda growth: (-growth.trend.bytes_per_hour, growth.process.process))


def _hours_left(memory: MemoryView, trend: MemoryTrend) -> float | None:
    """Until what was available at the end is used up; None where that is not known."""
    if memory.available_bytes is None:
        return None
    return memory.available_bytes / trend.bytes_per_hour


class _AddingStatement(NamedTuple):
    """A statement that only ever adds to a container."""

    line: Line
    addition: Addition


def _adding_places(
    profile: Profile, growing: Sequence[_GrowingProcess], lines: UserLines
) -> list[_AddingStatement]:
    """Such statements in files that the growing processes run, those of functions seen to run first."""
    seen = _seen_functions(profile, growing, lines)
    places = [
        (
            -seen.get((file, last_name(addition.function)), 0.0),
            _AddingStatement(Line(file, addition.line, addition.function), addition),
        )
        for file in {file for file, _ in seen}
        if (module := lines.module(file)) is not None
        for addition in additions(module)
    ]
    return [
        place
        for share, place in sorted(places)
        if not place.addition.is_local or -share >= MOST_OF_THE_TIME
    ]


def _seen_functions(
    profile: Profile, growing: Sequence[_GrowingProcess], lines: UserLines
) -> dict[tuple[str, str], float]:
    """Functions of the user's by (file, name) with the part of a thread's steady time inside them."""
    processes = {growth.process.process for growth in growing}
    most: dict[tuple[str, str], float] = {}
    for activity in profile.activities:
        if activity.process not in processes or not activity.wall_us:
            continue
        inside: dict[tuple[str, str], float] = defaultdict(float)
        for node in activity.tree.hot_nodes():
            frame = activity.tree.frame(node)
            if lines.is_yours(frame):
                wall = activity.tree.total_cost(node).wall_us
                inside[frame.file, last_name(frame.function)] += wall / activity.wall_us
        for function, share in inside.items():
            most[function] = max(most.get(function, 0.0), share)
    return most


def _title(trend: MemoryTrend, hours: float | None) -> str:
    growth = f"{size(trend.bytes_per_hour)} an hour"
    if hours is None:
        return f"memory grows by {growth}"
    return f"memory is full in about {rough_duration(hours * HOUR_US)}, growing by {growth}"


def _locations(adding: Sequence[_AddingStatement], told: Sequence[GrownLine]) -> list[Line]:
    """The lines that a finding names: what adds, then what ran while memory grew."""
    every = [statement.line for statement in adding] + [
        Line(line.file, line.line, line.function) for line in told
    ]
    return list(dict.fromkeys(every))[:SHOWN_PLACES]


def _evidence(
    profile: Profile,
    memory: MemoryView,
    trend: MemoryTrend,
    growing: Sequence[_GrowingProcess],
) -> Iterable[str]:
    step = "" if memory.bytes_per_step is None else f", {size(memory.bytes_per_step)} a step"
    yield (
        f"{size(trend.grown_bytes)} more after {duration(profile.steady_us)} of steady training"
        f"{step}: {size(trend.low)} to {size(trend.high)} an hour, no less at the end than before"
    )
    if len(memory.processes) > 1:
        yield "by process: " + ", ".join(
            _of_process(growth, profile) for growth in growing[:SHOWN_PROCESSES]
        )
    asked = [
        growth.process.virtual_trend
        for growth in growing
        if growth.process.virtual_trend is not None
    ]
    if asked:
        yield (
            f"{size(sum(virtual.grown_bytes for virtual in asked))} more addresses were asked for meanwhile: "
            "this is new memory, not a buffer that fills up"
        )
    if memory.available_bytes is not None:
        yield f"{size(memory.available_bytes)} could still be taken at the end"


def _of_process(growth: _GrowingProcess, profile: Profile) -> str:
    role = growth.process.role or "process"
    pid = profile.processes[growth.process.process].pid
    return f"{role} (pid {pid}) {size(growth.trend.bytes_per_hour)} an hour"


def _where(
    memory: MemoryView, adding: Sequence[_AddingStatement], told: Sequence[GrownLine]
) -> Iterable[str]:
    for place in adding[:SHOWN_PLACES]:
        at = f"{short_place(place.line)} in {place.line.function}"
        yield f"{place.addition.container} is only ever added to, at {at}"
    for line in told[:SHOWN_PLACES]:
        yield f"{_shares(line)}: more than just running would give it"
    if memory.lines and not told:
        heaviest = memory.lines[0]
        yield f"memory was seen to grow where the time goes, so no line stands out: {_shares(heaviest)}"


def _shares(line: GrownLine) -> str:
    at = short_place(line)
    return f"{at} has {percent(line.share_of_growth)} of the growth and {percent(line.share_of_time)} of the time"


def _fix(adding: Sequence[_AddingStatement]) -> str:
    if any(_keeps_a_graph(statement.addition.value) for statement in adding):
        return (
            "Bound what is kept, and keep numbers: if the loss is a tensor, each one keeps all that it was "
            "computed from. Append loss.item(), or loss.detach() where it must stay on the device."
        )
    if adding:
        return (
            "Bound what is kept: collections.deque(maxlen=...), or write it out and clear it every "
            "so often."
        )
    return (
        "Look for lists, dicts and caches that only grow, and for tensors kept with their graph; "
        "memray or tracemalloc name the line that asked for the memory."
    )


def _keeps_a_graph(value: str) -> bool:
    return bool(_LOSS.search(value)) and not _DETACHED.search(value)


DETECTOR: Final = Detector(
    id="memory-growth",
    name="memory that grows all through training",
    in_samples=InSamples(detect),
)
