"""The time that lines of the user's spend in what they call, that of loops that take tensors or arrays apart, and savings of such time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Generic, Protocol, TypeVar

from rlprof.model.activity import FOR_OTHERS, WaitKind
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Location, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, begins_process, heaviest_line, short_place
from rlprof.source.parameters import Parameters
from rlprof.source.tensor_loops import ARRAYS, TensorKind, TensorLoop, tensor_loops
from rlprof.source.values import SeenTensor, Values
from rlprof.syntax.origin import installed_package
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""


class LineCause(Protocol):
    """A cause on one line, with the nodes that are in it."""

    nodes: set[int]


LineCauseT = TypeVar("LineCauseT", bound=LineCause)


class SteadySearch:
    """Material of a search for a cause: the steady phase, the program's lines in it, and what was seen there."""

    def __init__(self, profile: Profile, lines: UserLines | None = None) -> None:
        self.profile = profile
        self.tree = profile.steady
        self.lines = UserLines.of(profile) if lines is None else lines
        self.values = Values(profile.values)

    @cached_property
    def parameters(self) -> Parameters:
        return Parameters(self.profile.sources, self.profile.run.command)

    def causes_on_lines(self, read: Callable[[int, Frame], LineCauseT | None]) -> list[LineCauseT]:
        """Return what ``read`` finds on the program's lines, of a node and its frame; it is asked once for each line that runs again and again."""
        known: dict[tuple[str, int], LineCauseT | None] = {}
        for node in self.tree.hot_nodes():
            frame = self.tree.frame(node)
            if not self.lines.is_yours(frame) or not self.lines.is_repeated(node):
                continue
            place = (frame.file, frame.line)
            if place not in known:
                known[place] = read(node, frame)
            told = known[place]
            if told is not None:
                told.nodes.add(node)
        return [each for each in known.values() if each is not None]


class LineTime:
    """Time of the steady phase: its nodes, and the lines of the user's that they are laid on."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self.profile = profile
        self.lines = lines
        self.weights: dict[Line, float] = defaultdict(float)
        """µs by line."""
        self._nodes: set[int] = set()

    def add(self, line: Line, us: float, nodes: Iterable[int]) -> None:
        self.weights[line] += us
        self._nodes.update(nodes)

    def add_calls(self, top: int, line: Line) -> None:
        """Add a call, with all that it calls; a worker that it forks lives on without it."""
        tree = self.lines.tree
        called = [*tree.subtree(top, lambda node: begins_process(tree.frame(node)))]
        self.add(line, tree.cost_of(called).wall_us, called)

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset(self._nodes)

    @property
    def total_us(self) -> float:
        return sum(self.weights.values())

    def is_worth(self, least_share: float) -> bool:
        """Tell whether it is at least that share of the critical time."""
        whole = self.profile.critical.wall_us
        return bool(whole) and bool(self.weights) and self.total_us >= least_share * whole

    @property
    def heaviest(self) -> Line:
        return heaviest_line(self.weights)

    @property
    def place(self) -> str:
        """The place of most of it, in short."""
        return short_place(self.heaviest)

    @property
    def locations(self) -> tuple[Location, ...]:
        return self.lines.shown_locations(self.weights, self.profile.critical.wall_us)

    def share_spent(self, where: str, beside_us: float = 0.0) -> str:
        """Tell which share of the time is spent ``where``, and how much in each step: with ``beside_us`` of no line."""
        total = self.total_us + beside_us
        share = percent(total / self.profile.critical.wall_us)
        each = of_each_step(total, self.profile.steady_steps)
        return f"{share} of the steady time is spent {where}{each}"


class LinesByPart(LineTime):
    """The time of lines, of which not always the same part goes."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self.by_part: dict[Range, set[int]] = defaultdict(set)
        """Nodes by the part that goes."""

    def add_part(self, line: Line, us: float, nodes: Iterable[int], part: Range) -> None:
        self.add(line, us, nodes)
        self.by_part[part].update(nodes)

    @property
    def savings(self) -> tuple[Saving, ...]:
        return tuple(Saving(frozenset(nodes), part) for part, nodes in self.by_part.items())


class HasPlace(Protocol):
    """Find of a recogniser: a line, and nodes whose own time it takes."""

    @property
    def place(self) -> Line: ...
    @property
    def nodes(self) -> Collection[int]: ...


FoundT = TypeVar("FoundT", bound=HasPlace)


class OwnTime(LineTime, Generic[FoundT]):
    """The own time of what was found, and that of which most was found."""

    def __init__(self, profile: Profile, lines: UserLines, found: Collection[FoundT]) -> None:
        super().__init__(profile, lines)
        self._found = found

    @property
    def most(self) -> FoundT:
        return max(self._found, key=lambda each: self.weights[each.place])

    @property
    def place(self) -> str:
        return short_place(self.most.place)


def own_time(
    profile: Profile, lines: UserLines, found: Collection[FoundT], least_share: float
) -> OwnTime[FoundT] | None:
    """The own time of ``found``; None where all of it is less than ``least_share`` of the critical time."""

    def own_us(each: FoundT) -> float:
        return profile.steady.cost_of(each.nodes).wall_us

    return time_by(own_us, profile, lines, found, least_share)


def time_by(
    us: Callable[[FoundT], float],
    profile: Profile,
    lines: UserLines,
    found: Collection[FoundT],
    least_share: float,
) -> OwnTime[FoundT] | None:
    """The same where ``us`` tells how much time each takes."""
    time = OwnTime(profile, lines, found)
    for each in found:
        time.add(each.place, us(each), each.nodes)
    return time if time.is_worth(least_share) else None


def called_right_there(tree: CallTree, node: int, packages: Collection[str]) -> Iterator[int]:
    """Yield the nodes of libraries that ``node`` calls itself, and of all that they call."""
    for child in tree.children(node):
        if installed_package(tree.frame(child).file) in packages:
            yield from tree.subtree(child)


def lines_time(
    profile: Profile,
    lines: UserLines,
    places: Mapping[str, Collection[int]],
    package: str = "torch",
    calls: Callable[[Frame, Frame], bool] = lambda _line, _below: False,
) -> LineTime:
    """The time of the lines in ``places`` (numbers by file): their own, and of ``package`` right below them, and of the functions
    there for which ``calls`` holds, by the frame of the line and that of the function.
    """
    tree, time = lines.tree, LineTime(profile, lines)
    taken: set[int] = set()
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
        claimed = {node}.union(*(tree.subtree(child) for child in below)) - taken
        taken |= claimed
        us = tree.cost_of(claimed).wall_us
        if us:
            time.add(lines.line(node), us, claimed)
    return time


def calls_time(
    profile: Profile,
    lines: UserLines,
    calls: Iterable[tuple[int, Line]],
    is_other: Callable[[int, int], bool] = lambda _top, _node: False,
) -> LineTime:
    """The time of ``calls``, pairs of the node of one and the line it is laid on, none below another; without that of nodes below it which
    ``is_other`` says are no part of it, and of all below these.
    """
    tree, time = lines.tree, LineTime(profile, lines)
    for top, line in calls:
        own = list(tree.subtree(top, partial(is_other, top)))
        if us := tree.cost_of(own).wall_us:
            time.add(line, us, own)
    return time


@dataclass(frozen=True, slots=True)
class LoopTime:
    """Time of the steady phase, in the loops of one kind."""

    kind: TensorKind
    loops: Mapping[str, Mapping[int, TensorLoop]]
    """By file, and by the lines that do their work."""
    time: LineTime

    @property
    def heaviest(self) -> TensorLoop:
        line = self.time.heaviest
        return self.loops[line.file][line.line]

    @property
    def place(self) -> str:
        """The first line of the heaviest loop, in short."""
        return short_place(Line(self.time.heaviest.file, self.heaviest.line, ""))

    def nodes(self, *, of_numbers: bool) -> frozenset[int]:
        """The nodes of the loops over numbers, or of those over rows."""
        places = {
            file: frozenset(line for line, loop in found.items() if loop.of_numbers is of_numbers)
            for file, found in self.loops.items()
        }
        return lines_time(self.time.profile, self.time.lines, places, self.kind.package).nodes


def loop_time(
    profile: Profile,
    kind: TensorKind,
    takes: Callable[[TensorLoop], bool],
    is_beside: Callable[[str, int, TensorLoop], bool] = lambda _file, _line, _loop: False,
) -> LoopTime | None:
    """The time of the loops of a kind that ``takes`` accepts, without the lines that ``is_beside`` says are no part of it, by file and number; None
    where it is less than ``MIN_SHARE``.
    """
    values = Values(profile.values)

    def seen(file: str) -> frozenset[SeenTensor]:
        if kind is ARRAYS:
            return values.arrays(file)
        lists = values.lists_of_tensors(file) if kind.with_lists else frozenset()
        return values.tensors(file) | lists

    loops = {
        file: {
            line: loop
            for line, loop in tensor_loops(text, seen(file), kind).items()
            if takes(loop) and not is_beside(file, line, loop)
        }
        for file, text in profile.sources.items()
    }
    lines = UserLines.of(profile)
    time = lines_time(profile, lines, loops, kind.package)
    return LoopTime(kind, loops, time) if time.is_worth(MIN_SHARE) else None


def busy_us_anywhere(profile: Profile, nodes: Collection[int]) -> int:
    """Return the time that all threads work in ``nodes``."""
    return sum(
        cost.busy_us
        for activity in profile.activities
        for node, cost in activity.tree.self_costs()
        if node in nodes
    )


def working_time(
    tree: CallTree, nodes: Collection[int], kinds: Mapping[int, WaitKind], removable: Range
) -> Iterator[Saving]:
    """Yield savings of the busy time of ``nodes``: what waits for others there is not the fix's."""
    waiting = frozenset(node for node in nodes if kinds.get(node) in FOR_OTHERS)
    working = frozenset(nodes) - waiting
    if any(tree.self_cost(node).wall_us for node in working):
        yield Saving(working, removable)
    wall = tree.cost_of(waiting).wall_us
    busy = tree.cost_of(waiting).busy_us
    if busy:
        yield Saving(waiting, removable.scaled(busy / wall))


def interpreter_lock_waits(
    profile: Profile, processes: Collection[int], held_us: float, removable: Range
) -> Iterator[Saving]:
    """Yield savings of the time that critical threads of ``processes`` wait for the GIL.

    Never more than ``held_us``, the busy time of the threads that the fix takes away.
    """
    tree = profile.steady
    nodes = {
        node
        for wait in profile.waits
        if wait.kind is WaitKind.GIL
        and wait.process in processes
        and wait.thread in profile.critical.threads
        for node in wait.nodes
        # Elsewhere the line's own work is most of its time, and others may explain that.
        if 2 * tree.self_cost(node).idle_us >= tree.self_cost(node).wall_us > 0
    }
    wall = tree.cost_of(nodes).wall_us
    idle = tree.cost_of(nodes).idle_us
    if idle:
        yield Saving(frozenset(nodes), removable.scaled(min(idle, held_us) / wall))
