"""The time that some lines of the user's spend in what they call, and that of loops that take tensors or arrays apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from rlprof.model.calltree import CallTree
from rlprof.model.finding import Location
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.source.tensor_loops import TENSORS, TensorKind, TensorLoop, tensor_loops
from rlprof.source.values import Values
from rlprof.syntax.origin import installed_package
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""


@dataclass(frozen=True, slots=True)
class LineTime:
    """Nodes of the steady phase, and the lines they are laid on."""

    nodes: frozenset[int]
    weights: Mapping[Line, float]
    """µs by line."""

    @property
    def total_us(self) -> float:
        return sum(self.weights.values())

    @property
    def heaviest(self) -> Line:
        return heaviest_line(self.weights)


class HasPlace(Protocol):
    """Find of a recogniser: a line, and nodes whose own time it takes."""

    @property
    def place(self) -> Line: ...
    @property
    def nodes(self) -> Collection[int]: ...


FoundT = TypeVar("FoundT", bound=HasPlace)


@dataclass(frozen=True, slots=True)
class OwnTime(Generic[FoundT]):
    """The own time of what was found, and that of which most was found."""

    profile: Profile
    lines: UserLines
    weights: Mapping[Line, float]
    """µs by line."""
    heaviest: FoundT

    @property
    def total_us(self) -> float:
        return sum(self.weights.values())

    @property
    def place(self) -> str:
        """Where most of it is, in short."""
        return short_place(self.heaviest.place)

    @property
    def locations(self) -> tuple[Location, ...]:
        return self.lines.shown_locations(self.weights, self.profile.critical.wall_us)

    def share_spent(self, where: str) -> str:
        """Tell which share of the time is spent ``where``, and how much in each step."""
        share = percent(self.total_us / self.profile.critical.wall_us)
        each = of_each_step(self.total_us, self.profile.steady_steps)
        return f"{share} of the steady time is spent {where}{each}"


def own_time(
    profile: Profile, lines: UserLines, found: Collection[FoundT], least_share: float
) -> OwnTime[FoundT] | None:
    """The own time of ``found``; None where all of it is less than ``least_share`` of the critical time."""

    def own_us(each: FoundT) -> float:
        return sum(profile.steady.self_cost(node).wall_us for node in each.nodes)

    return time_by(own_us, profile, lines, found, least_share)


def time_by(
    us: Callable[[FoundT], float],
    profile: Profile,
    lines: UserLines,
    found: Collection[FoundT],
    least_share: float,
) -> OwnTime[FoundT] | None:
    """The same where ``us`` tells how much time each takes."""
    weights: dict[Line, float] = defaultdict(float)
    for each in found:
        weights[each.place] += us(each)
    whole = profile.critical.wall_us
    if not whole or not found or sum(weights.values()) < least_share * whole:
        return None
    heaviest = max(found, key=lambda each: weights[each.place])
    return OwnTime(profile, lines, weights, heaviest)


def called_right_there(tree: CallTree, node: int, packages: Collection[str]) -> Iterator[int]:
    """Yield the nodes of libraries that ``node`` calls itself, and of all that they call."""
    for child in tree.children(node):
        if installed_package(tree.frame(child).file) in packages:
            yield from tree.subtree(child)


def lines_time(
    tree: CallTree,
    lines: UserLines,
    places: Mapping[str, Collection[int]],
    package: str = "torch",
    calls: Callable[[Frame, Frame], bool] = lambda _line, _below: False,
) -> LineTime:
    """The time of the lines in ``places`` (numbers by file): their own, and of ``package`` right below them, and of the functions
    there for which ``calls`` holds, by the frame of the line and that of the function.
    """
    nodes: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    for node in tree.hot_nodes() if any(places.values()) else ():
        frame = tree.frame(node)
        if frame.line not in places.get(frame.file, ()) or not lines.is_yours(frame):
            continue
        below = (
            child
            for child in tree.children(node)
            if installed_package(tree.frame(child).file) == package
            or calls(frame, tree.frame(child))
        )
        claimed = {node}.union(*(tree.subtree(child) for child in below)) - nodes
        nodes |= claimed
        us = sum(tree.self_cost(each).wall_us for each in claimed)
        if us:
            weights[lines.line(node)] += us
    return LineTime(frozenset(nodes), weights)


def calls_time(
    tree: CallTree,
    calls: Iterable[tuple[int, Line]],
    is_other: Callable[[int, int], bool] = lambda _top, _node: False,
) -> LineTime:
    """The time of ``calls``, pairs of the node of one and the line it is laid on, none below another; without that of nodes below it which
    ``is_other`` says are no part of it, and of all below these.
    """
    nodes: set[int] = set()
    weights: dict[Line, float] = defaultdict(float)
    for top, line in calls:
        own = list(tree.subtree(top, partial(is_other, top)))
        if us := sum(tree.self_cost(node).wall_us for node in own):
            nodes.update(own)
            weights[line] += us
    return LineTime(frozenset(nodes), weights)


@dataclass(frozen=True, slots=True)
class LoopTime:
    """Time of the steady phase, in the loops of one kind."""

    profile: Profile
    kind: TensorKind
    lines: UserLines
    loops: Mapping[str, Mapping[int, TensorLoop]]
    """By file, and by the lines that do their work."""
    time: LineTime

    @property
    def heaviest(self) -> TensorLoop:
        line = self.time.heaviest
        return self.loops[line.file][line.line]

    @property
    def place(self) -> str:
        """Where the heaviest loop begins, in short."""
        return short_place(Line(self.time.heaviest.file, self.heaviest.line, ""))

    @property
    def locations(self) -> tuple[Location, ...]:
        return self.lines.shown_locations(self.time.weights, self.profile.critical.wall_us)

    @property
    def evidence(self) -> str:
        """Share of the time that it is, and how much in each step."""
        share = percent(self.time.total_us / self.profile.critical.wall_us)
        each = of_each_step(self.time.total_us, self.profile.steady_steps)
        return f"{share} of the steady time is spent in that loop{each}"

    def nodes(self, *, of_numbers: bool) -> frozenset[int]:
        """The nodes of the loops over numbers, or of those over rows."""
        places = {
            file: frozenset(line for line, loop in found.items() if loop.of_numbers is of_numbers)
            for file, found in self.loops.items()
        }
        return lines_time(self.profile.steady, self.lines, places, self.kind.package).nodes


def loop_time(
    profile: Profile, kind: TensorKind, takes: Callable[[TensorLoop], bool]
) -> LoopTime | None:
    """The time of the loops of a kind that ``takes`` accepts; None where it is less than ``MIN_SHARE``."""
    values = Values(profile.values)
    seen = values.tensors if kind is TENSORS else values.arrays
    loops = {
        file: {
            line: loop for line, loop in tensor_loops(text, seen(file), kind).items() if takes(loop)
        }
        for file, text in profile.sources.items()
    }
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    time = lines_time(profile.steady, lines, loops, kind.package)
    whole = profile.critical.wall_us
    if not whole or time.total_us < MIN_SHARE * whole:
        return None
    return LoopTime(profile, kind, lines, loops, time)
