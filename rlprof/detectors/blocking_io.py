"""Files read, and servers asked, while the training waits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.outputs.changing_files import is_changing
from rlprof.detectors.recognisers.outputs.output import find_output
from rlprof.detectors.recognisers.outputs.saving import saving_calls
from rlprof.libraries.base import Access
from rlprof.model.activity import WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.source.outputs import file_access, kind_of, works_in_memory
from rlprof.source.values import Values
from rlprof.source.wait_kinds import wait_of
from rlprof.syntax.origin import Origin, origin
from rlprof.units import duration, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time. A file per episode or update stays below it: 20 to 150 µs each."""

REMOVABLE: Final[Mapping[Access, Range]] = calibrated(
    {Access.REMOTE: Range(0.4, 1.0), Access.READ: Range(0.6, 1.0)},
    unit="part of the time of the access",
    source="Python 3.11: a small file read from the system's cache over its array in memory 180 to 700",
    date="2026-11-21",
)
"""Part that goes: less where each small file is read only once; and a request in a thread still takes the
interpreter for a part of its time."""

_FIXES: Final[Mapping[Access, str]] = {
    Access.REMOTE: "Hand the requests to a thread through a queue.Queue, or gather them and send one "
    "per rollout.",
    Access.READ: "Read the files once before the loop and keep their data in memory, as well as what the training itself writes to them; what "
    "others change meanwhile, read again where os.stat(path).st_mtime_ns is a new one; what does not fit, read ahead in a thread or in DataLoader workers.",
}


class _Accesses(SteadySearch):
    """Access to files on the critical threads: its nodes, and its lines by weight."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.nodes = find_file_access(self.lines, self.values)
        if Access.REMOTE in self.nodes.values():
            self._leave_out_simulators(profile)
        self.by_access: dict[Access, float] = defaultdict(float)
        self.weights: dict[Line, float] = defaultdict(float)
        self.asleep_us = 0.0
        for node, access in self.nodes.items():
            cost = self.tree.self_cost(node)
            owner = self.lines.owner(node)
            self.by_access[access] += cost.wall_us
            self.asleep_us += cost.idle_us
            if owner != NO_PARENT and cost.wall_us:
                self.weights[self.lines.line(owner)] += cost.wall_us

    def _leave_out_simulators(self, profile: Profile) -> None:
        """A server that the environment asks is the environment: it cannot be asked later."""
        parts = profile.parts
        self.nodes = {
            node: access
            for node, access in self.nodes.items()
            if access is not Access.REMOTE or parts[node] != ENVIRONMENT
        }

    @property
    def us(self) -> float:
        return sum(self.by_access.values())

    @property
    def heaviest(self) -> Line:
        return heaviest_line(self.weights)

    def savings(self) -> Iterator[Saving]:
        for access in Access:
            nodes = frozenset(node for node, kind in self.nodes.items() if kind is access)
            if nodes:
                yield Saving(nodes, REMOVABLE[access])


def detect(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    accesses = _Accesses(profile)
    if not whole or not accesses.weights or accesses.us / whole < MIN_SHARE:
        return
    access = max(accesses.by_access, key=lambda kind: (accesses.by_access[kind], kind.value))
    yield Finding(
        title=f"{access.value} at {short_place(accesses.heaviest)} hold up the training",
        savings=tuple(accesses.savings()),
        locations=accesses.lines.shown_locations(accesses.weights, whole),
        evidence=tuple(_evidence(profile, accesses)),
        fix=_FIXES[access],
        confidence=Confidence.BOUNDED,
    )


def _evidence(profile: Profile, accesses: _Accesses) -> Iterable[str]:
    whole = profile.critical.wall_us
    each = (
        f", {duration(accesses.us / profile.steady_steps)} per step" if profile.steady_steps else ""
    )
    yield (
        f"{percent(accesses.us / whole)} of the critical time is spent there{each}; asleep for "
        f"{percent(accesses.asleep_us / accesses.us)} of it"
    )
    parts = sorted(accesses.by_access.items(), key=lambda item: (-item[1], item[0].value))
    shown = [f"{access.value}: {percent(us / whole)}" for access, us in parts if us]
    if len(shown) > 1:
        yield ", ".join(shown)
    statement = accesses.lines.statement(accesses.heaviest)
    if statement and statement.conditions:
        yield f"it is done when {statement.condition}"


# --- where files and servers are asked ------------------------------------------------------
#
# Library code by its file and function, C code by the user's line. Output and checkpoints
# are left out: they have causes of their own.

_FUNCTIONS: Final = {
    Access.REMOTE: r"^\w+$",
    Access.READ: r"^(read\w*|load\w*|open|genfromtxt|fromfile|imread|__getitem__|i?glob|rglob|iterdir)$",
}
"""Functions of libraries that ask, by what they ask."""

_of_library: Final = kind_of(_FUNCTIONS, lambda library: library.accesses)

_LOADS: Final = re.compile(r"(load|read|from_pretrained|from_file)(?!_state_dict)")
"""Functions of libraries that the user's own line calls to make something of a file."""

_TAKES_BYTES: Final = re.compile(
    r"/(codecs|encodings[/]\w+|_bootlocale|tempfile|pickle)\.py$|/json/"
)
"""Standard library that the user's own line calls to turn bytes into values and back."""


def find_file_access(lines: UserLines, values: Values) -> dict[int, Access]:
    """Nodes whose own time is access to files and servers, in loops of the user's."""
    tree = lines.tree
    output = find_output(lines, values).sinks
    saving = set(saving_calls(lines, values))
    known: dict[tuple[str, int], Access | None] = {}
    found: dict[int, Access] = {}
    below: set[int] = set()
    for node in tree.hot_nodes():
        parent = tree.nodes[node].parent
        frame = tree.frame(node)
        if node in saving or parent in saving:
            saving.add(node)
        elif parent in below:
            found[node] = found[parent]
            below.add(node)
        elif node in output:
            continue
        elif lines.is_yours(frame):
            key = (frame.file, frame.line)
            if key not in known:
                known[key] = _on_line(lines, values, frame)
            access = known[key]
            if access is Access.READ and _is_of_a_socket(node, tree):
                continue
            if access is not None and lines.is_repeated(node):
                found[node] = access
        elif (access := _of_library(frame)) is not None and lines.is_repeated(node):
            if _is_in_memory(node, lines, values) or _is_changing(node, lines):
                continue
            found[node] = found.get(parent, access)
            below.add(node)
        elif parent in found and _takes_bytes(frame):
            found[node] = found[parent]
            below.add(node)
    for node in [*_loading(lines, found)]:
        for inside in tree.subtree(node, lambda inner: lines.is_yours(tree.frame(inner))):
            found.setdefault(inside, Access.READ)
    return found


def _loading(lines: UserLines, found: Mapping[int, Access]) -> Iterator[int]:
    """Yield the calls of libraries' functions that load something, such as a model, and read a file for it, at all lines of these functions:
    whoever keeps what they give needs neither.
    """
    tree = lines.tree
    callers: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for node in (node for node, access in found.items() if access is Access.READ):
        for above in (node, *tree.ancestors(node)):
            frame, caller = tree.frame(above), tree.nodes[above].parent
            if lines.is_yours(frame):
                break
            if _LOADS.match(last_name(frame.function)) and lines.owner(above) == caller:
                callers[caller].add((frame.file, frame.function))
    for caller, functions in callers.items():
        for node in tree.children(caller):
            frame = tree.frame(node)
            if (frame.file, frame.function) in functions:
                yield node


def _on_line(lines: UserLines, values: Values, frame: Frame) -> Access | None:
    module = lines.module(frame.file)
    if module is None or works_in_memory(frame, lines, values):
        return None
    found = {
        file_access(call, values.of(frame.file, statement), module)
        for statement in module.statements_at(frame.line)
        for call in statement.calls()
        if not is_changing(statement, module)
    }
    return next((access for access in Access if access in found), None)


def _is_of_a_socket(node: int, tree: CallTree) -> bool:
    """Tell whether a line reads what comes through a socket: a file that was made of one has the socket's own frame below."""
    return any(wait_of(tree.frame(child)) is WaitKind.SOCKET for child in tree.children(node))


def _is_in_memory(node: int, lines: UserLines, values: Values) -> bool:
    owner = lines.owner(node)
    return owner != NO_PARENT and works_in_memory(lines.tree.frame(owner), lines, values)


def _is_changing(node: int, lines: UserLines) -> bool:
    owner = lines.owner(node)
    frame = lines.tree.frame(owner) if owner != NO_PARENT else None
    module = lines.module(frame.file) if frame is not None else None
    return (
        frame is not None
        and module is not None
        and any(is_changing(statement, module) for statement in lines.statements(frame))
    )


def _takes_bytes(frame: Frame) -> bool:
    return origin(frame) is Origin.STDLIB and bool(_TAKES_BYTES.search(frame.file))


DETECTOR: Final = Detector(
    id="blocking-io",
    name="files and servers that the training waits for",
    in_samples=InSamples(detect),
)
