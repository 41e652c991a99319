"""The fallback: heavy lines that no other detector explains."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import (
    GC_FUNCTION,
    INVALID_FUNCTION,
    NO_PARENT,
    NO_STACK_FUNCTION,
    Frame,
)
from rlprof.source.lines import Line, UserLines, file_name, heaviest_line, last_name, short_place
from rlprof.source.value import Value
from rlprof.source.values import Values, calls_compiled, value_of
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import given_to
from rlprof.syntax.origin import Origin, origin
from rlprof.units import percent

_SHOWN: Final = 4
"""Operands of one call: more do not fit on a line."""
_LONGEST_NAME: Final = 50
_OPERATORS: Final = {
    ast.Add: "adds", ast.Sub: "subtracts", ast.Mult: "multiplies", ast.Div: "divides",
    ast.MatMult: "multiplies matrices:", ast.FloorDiv: "divides", ast.Mod: "takes remainders:", ast.Pow: "raises",
}  # fmt: skip

MIN_SHARE: Final = 0.03
"""Least share of the critical time: a line under it is not what makes training slow, and every loop has some."""

MAX_FINDINGS: Final = 5
"""More would be a flamegraph in words."""

ONE_LINE: Final = 0.6
"""Part of a function's time on its heaviest line from which the line is named, not the function."""

MOSTLY_WAITING: Final = 0.5
"""Idle part of a line's own time from which it is waiting, which is no cost by itself."""

SHOWN_LINES: Final = 5
SHOWN_CALLEES: Final = 4

PASSES_ON: Final = 0.8
"""Part of the time below a line from which one callee only passes it on: what branches is below."""

_IN_WORDS: Final = {
    INVALID_FUNCTION: "a stack that could not be read whole",
    NO_STACK_FUNCTION: "time without a stack",
}


class _Spot(NamedTuple):
    """Subject of a finding: one function of the user's."""

    file: str
    function: str


@dataclass(slots=True)
class _HotSpotCost:
    nodes: set[int] = field(default_factory=set)
    wall_us: int = 0
    idle_us: int = 0
    lines: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    own_us: int = 0
    """The part spent on the lines themselves."""
    owners: set[int] = field(default_factory=set)
    """The user's lines of the spot, as nodes."""
    ends: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """The part in code that is not the user's, by the function it is spent in."""

    @property
    def busy_us(self) -> int:
        return self.wall_us - self.idle_us


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    whole = profile.critical.wall_us
    if not whole:
        return
    lines = UserLines.of(profile)
    values = Values(profile.values)
    spots = [
        (spot, cost)
        for spot, cost in _spots(tree, lines).items()
        if cost.busy_us / whole >= MIN_SHARE
    ]
    spots.sort(key=lambda item: (-item[1].busy_us, item[0]))
    for spot, cost in spots[:MAX_FINDINGS]:
        yield _finding(spot, cost, lines, values, whole)


def _spots(tree: CallTree, lines: UserLines) -> dict[_Spot, _HotSpotCost]:
    spots: dict[_Spot, _HotSpotCost] = defaultdict(_HotSpotCost)
    for node in tree.hot_nodes():
        self_cost = tree.self_cost(node)
        owner = _responsible(tree, lines, node)
        if owner == NO_PARENT or not self_cost.wall_us:
            continue
        # Collections are a cause, and have a detector of their own.
        if tree.frame(node).function == GC_FUNCTION:
            continue
        if self_cost.idle_us > MOSTLY_WAITING * self_cost.wall_us:
            continue
        line = lines.line(owner)
        frame = tree.frame(node)
        cost = spots[_Spot(line.file, line.function)]
        cost.nodes.add(node)
        cost.wall_us += self_cost.wall_us
        cost.idle_us += self_cost.idle_us
        cost.lines[line] += self_cost.busy_us
        cost.owners.add(owner)
        if node == owner:
            cost.own_us += self_cost.busy_us
        else:
            cost.ends[_name(frame)] += self_cost.busy_us
    return spots


def _responsible(tree: CallTree, lines: UserLines, node: int) -> int:
    """The node whose line the time is laid on: the user's, or where there is none a library's."""
    owner = lines.owner(node)
    if owner != NO_PARENT:
        return owner
    current = node
    while current != NO_PARENT and origin(tree.frame(current)) is not Origin.LIBRARY:
        current = tree.nodes[current].parent
    return current


def _branches(tree: CallTree, cost: _HotSpotCost, owners: Collection[int]) -> dict[str, int]:
    """Busy time of the spot by function, where the way down from ``owners`` first goes several ways.

    ``model.learn()`` may be all of a script; what matters is which parts of the library it is in.
    Where one way leads to the bottom, the functions that the spot itself calls. What is another spot's, as a
    function of the user's that a library calls back, is not counted.
    """
    spent = _spent_below(tree, cost, owners)
    first: dict[str, int] | None = None
    level = list(owners)
    while True:
        groups: dict[str, list[int]] = defaultdict(list)
        for parent in level:
            for child in tree.children(parent):
                if child in spent:
                    groups[_name(tree.frame(child))].append(child)
        times = {name: sum(spent[node] for node in nodes) for name, nodes in groups.items()}
        first = times if first is None else first
        if not times:
            return first
        heaviest = max(times, key=lambda name: (times[name], name))
        if times[heaviest] < PASSES_ON * sum(times.values()):
            return times
        level = groups[heaviest]


def _spent_below(tree: CallTree, cost: _HotSpotCost, owners: Collection[int]) -> dict[int, int]:
    """Busy time of the spot's own nodes, in and below each node from ``owners`` down."""
    spent: dict[int, int] = defaultdict(int)
    for node in cost.nodes:
        way = [node]
        while way[-1] not in cost.owners:
            way.append(tree.nodes[way[-1]].parent)
        if way[-1] in owners:
            for passed in way:
                spent[passed] += tree.self_cost(node).busy_us
    return spent


def _name(frame: Frame) -> str:
    if frame.function in _IN_WORDS:
        return _IN_WORDS[frame.function]
    return f"{frame.function} ({file_name(frame.file)})" if frame.file else frame.function


def _finding(
    spot: _Spot, cost: _HotSpotCost, lines: UserLines, values: Values, whole: int
) -> Finding:
    locations = lines.locations(cost.lines, whole)[:SHOWN_LINES]
    return Finding(
        title=_title(spot, cost),
        savings=(Saving(frozenset(cost.nodes), Range(0.0, cost.busy_us / cost.wall_us)),),
        locations=locations,
        evidence=(
            *_evidence(cost, lines, whole),
            *_operation(cost, lines, values),
        ),
        fix="Look whether all of this has to be done at every step; rlprof knows no fix for it.",
        confidence=Confidence.SUSPECTED,
        seen_share=cost.busy_us / whole,
    )


def _one_line(cost: _HotSpotCost) -> Line | None:
    """The line that most of the time is on; None where there is none."""
    heaviest = heaviest_line(cost.lines)
    return heaviest if cost.lines[heaviest] >= ONE_LINE * cost.busy_us else None


def _title(spot: _Spot, cost: _HotSpotCost) -> str:
    line = _one_line(cost)
    if line is not None:
        return f"{short_place(line)} in {spot.function} is hot, no known cause"
    return f"{spot.function} ({file_name(spot.file)}) is hot over {len(cost.lines)} lines, no known cause"


def _evidence(cost: _HotSpotCost, lines: UserLines, whole: int) -> Iterable[str]:
    line = _one_line(cost)
    owners = {owner for owner in cost.owners if line is None or lines.line(owner) == line}
    below = cost.busy_us - cost.own_us
    yield (
        f"{percent(cost.busy_us / whole)} of the steady time: {percent(cost.own_us / whole)} on the "
        f"lines themselves (what they call in C included), {percent(below / whole)} in what they call"
    )
    branches = _branches(lines.tree, cost, owners)
    if called := _heaviest(branches, whole):
        yield f"called: {called}"
    deeper = {name: us for name, us in cost.ends.items() if name not in branches}
    if ends := _heaviest(deeper, whole):
        yield f"most of it in: {ends}"


def _operation(cost: _HotSpotCost, lines: UserLines, values: Values) -> Iterable[str]:
    """Return what the heaviest line does, where the values that it works on were seen."""
    heaviest = heaviest_line(cost.lines)
    owners = {owner for owner in cost.owners if lines.line(owner) == heaviest}
    called = {
        last_name(lines.tree.frame(child).function)
        for owner in owners
        for child in lines.tree.children(owner)
    }
    told = [
        words
        for statement in lines.statements(heaviest)
        if (words := operation_in_words(statement, values.of(heaviest.file, statement), called))
    ]
    if told:
        yield f"{short_place(heaviest)} does: {'; '.join(told)}"


def _heaviest(times: dict[str, int], whole: int) -> str:
    """The dearest of ``times`` with their shares; empty when none reaches a percent."""
    ranked = sorted(times.items(), key=lambda item: (-item[1], item[0]))[:SHOWN_CALLEES]
    return ", ".join(f"{name} {percent(us / whole)}" for name, us in ranked if us >= 0.01 * whole)


def operation_in_words(
    statement: Statement, known: Mapping[str, Value], called: Collection[str]
) -> str:
    """Return what the statement does; empty where nothing is known of it. ``called`` are names of functions that its time
    was seen in; where there are none, it is in what is written in C.
    """
    calls = list(statement.calls())
    chosen = [call for call in calls if called_name(call) in called]
    if not chosen:
        chosen = [call for call in calls if calls_compiled(call, known)]
    told = [words for call in chosen[:2] if (words := _call(call, known))]
    told += _texts(statement, known)
    if not told and not called:
        told = list(_arithmetic(statement, known))[:1]
    return "; ".join(told)


def _call(call: ast.Call, known: Mapping[str, Value]) -> str:
    callee = value_of(call.func, known)
    name = _name_of_call(call, callee)
    arguments = given_to(call)
    on = [words for argument in arguments if (words := _operand(argument, known))][:_SHOWN]
    if isinstance(call.func, ast.Attribute) and (callee is None or not callee.function):
        owner = value_of(call.func.value, known)
        if owner is not None and owner.type != "module":
            on.insert(0, f"{ast.unparse(call.func.value)}: {owner.in_words()}")
    return f"{name} of {', '.join(on)}" if on else ""


def _name_of_call(call: ast.Call, callee: Value | None) -> str:
    written = ast.unparse(call.func)
    if callee is None:
        return written if len(written) <= _LONGEST_NAME else called_name(call)
    if callee.is_network:
        return f"the network {written} ({callee.in_words()})"
    if callee.made:
        return f"a new {callee.made}"
    # What a class of torch's own keeps its functions in says nothing.
    return callee.function.replace("_VariableFunctionsClass.", "") or written


def _operand(expression: ast.expr, known: Mapping[str, Value]) -> str:
    value = value_of(expression, known)
    if value is None or value.function or value.made or value.type == "module":
        return ""
    text = ast.unparse(expression)
    return f"{text}: {value.in_words()}{', longer each time' if value.grows() else ''}"


def _texts(statement: Statement, known: Mapping[str, Value]) -> Iterator[str]:
    """Yield what is formatted into text, where arrays are: of numbers nobody would notice it."""
    formatted = [node.value for node in statement.walk() if isinstance(node, ast.FormattedValue)]
    arrays = [
        _operand(value, known)
        for value in formatted
        if (found := value_of(value, known)) is not None and (found.is_array or found.length)
    ]
    if arrays:
        yield f"text of {', '.join(arrays[:_SHOWN])}"


def _arithmetic(statement: Statement, known: Mapping[str, Value]) -> Iterator[str]:
    for node in statement.walk():
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            sides = [words for side in (node.left, node.right) if (words := _operand(side, known))]
            if sides:
                yield f"{_OPERATORS[type(node.op)]} {', '.join(sides)}"


DETECTOR: Final = Detector(
    id="hot-spot",
    name="heavy lines that nothing else explains",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES}), is_fallback=True),
)
