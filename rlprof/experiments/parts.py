"""The functions by which parts of training are entered: without them a part costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.experiments.base import PythonCallee
from rlprof.model.calltree import with_callees
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Recording
from rlprof.profile.components import DATA, ENVIRONMENT, INFERENCE, LEARNING, LOGGING, TRANSFER

PARTS: Final = frozenset({DATA, ENVIRONMENT, INFERENCE, LEARNING, LOGGING, TRANSFER})

LEAST_SHARE: Final = 0.03
"""Share of the time of a part that is worth a try."""

MOST_FUNCTIONS: Final = 3
LEAST_OF_PART: Final = 0.1
"""Part of a part's time from which on a function is one of those by which it is entered."""


@dataclass(frozen=True, slots=True)
class PartOfTraining:
    """A part of training and what it is entered by, the heaviest function first."""

    component: str
    share: float
    """Share of the time, with its waits for a core."""
    functions: tuple[PythonCallee, ...]


def parts_of(recording: Recording, profile: Profile) -> Sequence[PartOfTraining]:
    """Return the parts of training that functions of Python's are entered by, the dearest first; ``profile`` is that of the recording."""
    shares = {each.name: each.priced_share or each.share for each in profile.components}
    entered = _entered(recording, profile.parts)
    parts = [
        PartOfTraining(name, shares[name], tuple(_heaviest(entered[name])))
        for name in PARTS & shares.keys() & entered.keys()
        if shares[name] >= LEAST_SHARE
    ]
    return sorted(parts, key=lambda part: (-part.share, part.component))


def _entered(
    recording: Recording, parts: Sequence[str]
) -> dict[str, dict[tuple[str, str], tuple[int, int]]]:
    """By part, and by file and function: all time below (µs), and a line of the function."""
    nodes = recording.nodes
    below_us = with_callees(nodes, recording.samples.us_by_node(len(nodes)))
    found: dict[str, dict[tuple[str, str], tuple[int, int]]] = {}
    for node in nodes:
        part = parts[node.id]
        if part not in PARTS or (node.parent != NO_PARENT and parts[node.parent] == part):
            continue
        functions = found.setdefault(part, {})
        key = node.frame.file, node.frame.function
        us, _ = functions.get(key, (0, 0))
        functions[key] = us + below_us[node.id], node.frame.line
    return found


def _heaviest(functions: dict[tuple[str, str], tuple[int, int]]) -> Iterator[PythonCallee]:
    whole_us = sum(us for us, _ in functions.values())
    ordered = sorted(functions.items(), key=lambda entry: -entry[1][0])
    for (file, function), (us, line) in ordered[:MOST_FUNCTIONS]:
        if us >= LEAST_OF_PART * whole_us:
            yield PythonCallee(file, line, function.rpartition(".")[2])
