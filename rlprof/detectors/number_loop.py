"""Many numbers that a loop of Python goes through one by one."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.array_arithmetic import (
    is_for_arrays,
    is_the_same_for_arrays,
)
from rlprof.detectors.recognisers.arrays.item_reads import ItemReads
from rlprof.detectors.recognisers.arrays.number_tables import (
    NumbersSeen,
    TableTurns,
    rows_seen,
    table_turns,
    writes_to_a_view,
)
from rlprof.detectors.recognisers.line_time import SteadySearch, own_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.parameters import Parameters
from rlprof.source.value import Value, is_number, is_truth
from rlprof.source.values import value_of
from rlprof.syntax.imports import root_name
from rlprof.syntax.loop_elements import Turns, turns_at
from rlprof.syntax.module import variables_read
from rlprof.syntax.nodes import names_in, nodes_in

FEWEST: Final = 64
"""Numbers from which on a loop is told: an operation of numpy's takes about a microsecond, ten turns of a loop as much."""

_COMPARED: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in these loops."""

MANY: Final = 256
"""Numbers from which on arrays take next to nothing beside the loop."""

OF_FEW: Final = calibrated(
    Range(0.5, 0.9),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of 64 and 128 numbers 0.11 to 0.44 is left",
    date="2026-11-26",
)
"""Part that goes with operations on whole arrays."""

OF_MANY: Final = calibrated(
    Range(0.8, 0.98),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, numpy 2.4: of 256 to 1 000 numbers 0.03 to 0.13 is left",
    date="2026-11-26",
)
"""The same of many."""

OF_MADE_ANEW: Final = 0.0
"""Least part that goes where each time another list is gone through: to turn 64 numbers into an array, and back, takes as long as the loop."""

OF_A_DICT: Final = 0.5
"""Least part that goes where they are in a dictionary: an array may have to hold a place for each key there can be. By reason."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    loops = NumberLoops(profile, lines).found()
    time = own_time(profile, lines, loops, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"numbers are gone through one by one in Python ({time.place})",
        savings=tuple(Saving(frozenset(loop.nodes), _removable(loop)) for loop in loops),
        locations=time.locations,
        evidence=(
            time.share_spent("in the loop"),
            f"it goes through {time.most.numbers.container}",
            "its turns do arithmetic, and none needs what another one has computed",
        ),
        fix="Keep them in arrays of numpy's, and let one operation work on all: weights += step * traces; traces *= decay. What is in a "
        "dictionary takes an array with a place for each key.",
        confidence=Confidence.BOUNDED,
    )


def _removable(loop: NumberLoop) -> Range:
    part = OF_MANY if loop.numbers.many >= MANY else OF_FEW
    if not loop.numbers.is_kept:
        return Range(OF_MADE_ANEW, part.high)
    return Range(min(part.low, OF_A_DICT), part.high) if loop.numbers.is_dict else part


@dataclass(slots=True)
class NumberLoop:
    """One such loop, with the work on its lines."""

    place: Line
    numbers: NumbersSeen
    turns: Turns
    nodes: set[int] = field(default_factory=set)


class NumberLoops(SteadySearch):
    """Looks for them in the steady phase."""

    def found(self) -> list[NumberLoop]:
        loops: dict[tuple[str, int], NumberLoop] = {}
        for node, _ in sorted(self.tree.self_costs()):
            frame = self.tree.frame(node)
            if not self.lines.is_yours(frame) or not self.values.has(frame.file):
                continue
            module = self.lines.module(frame.file)
            if module is None:
                continue
            for turns in turns_at(module, frame.line):
                known = self.values.between(frame.file, turns.lines)
                table = table_turns(module, turns, known)
                numbers = _Reading(turns, known, self.parameters, table).numbers()
                if numbers is not None:
                    if writes_to_a_view(module, frame.line, turns):
                        break
                    place = frame.file, turns.lines.start
                    line = self.lines.line(node)
                    loops.setdefault(place, NumberLoop(line, numbers, turns)).nodes.add(node)
                    break
        reads = ItemReads(self, loops.values())
        return [loop for loop in loops.values() if not reads.outweigh(loop)]


class _Reading:
    """One loop, read with what was seen in it."""

    def __init__(
        self,
        turns: Turns,
        known: Mapping[str, Value],
        parameters: Parameters,
        table: TableTurns | None = None,
    ) -> None:
        self._table = table
        self._turns = turns = turns if table is None else table.turns
        self._rows = rows_seen(turns, known)
        self._known = {**known, **self._rows}
        self._parameters = parameters
        self._numbers: list[NumbersSeen] = []
        self._keys: set[str] = set()
        """Names by which a turn finds its own place: keys of a dictionary, numbers of ``enumerate``."""
        self._own: set[str] = set()
        """Names that a turn gives a number before it reads them."""
        self._sums: set[str] = set()
        """Names that are only added to."""
        self._computes = False
        """True if there is arithmetic at all."""

    def numbers(self) -> NumbersSeen | None:
        """Return the numbers that it goes through one by one; None where it goes through anything else, or does more than arithmetic."""
        table = self._table
        if table is not None and table.numbers.many >= FEWEST:
            self._keys |= table.turns.elements.keys()
            self._numbers.append(table.numbers)
        elif not all(itertools.starmap(self._is_element, self._turns.elements.items())):
            return None
        if not all(map(self._is_done, self._turns.body)) or not self._are_its_places():
            return None
        return max(self._numbers, default=None) if self._computes else None

    def _is_element(self, name: str, source: ast.expr) -> bool:
        """Take in a name of the turn's own: a number, or the key of one."""
        match source:
            case ast.Call(func=ast.Name(id="enumerate")):
                self._keys.add(name)
                return True
            case ast.Call(func=ast.Name(id="range"), args=[stop]):
                self._keys.add(name)
                return self._is_counted(stop)
            case ast.Call(func=ast.Attribute(value=of, attr="items" | "keys")):
                self._keys.add(name)
                return self._goes_through(of)
            case ast.Call(func=ast.Name(id="list"), args=[of]):
                source = of
        value = value_of(source, self._known)
        if value is not None and value.type == "dict":
            # Its values where it is one of ``items()``, else its keys.
            seen = self._known.get(name)
            if value.items == "int":
                return False  # A number of its own may be another one's key: ``for state, after in moves.items()``.
            (self._own if seen is not None and seen.type == "float" else self._keys).add(name)
        else:
            self._own.add(name)
        return self._goes_through(source)

    def _is_counted(self, stop: ast.expr) -> bool:
        """Take in the numbers from zero to ``stop`` on: the length of a container or an array of numbers, or how many there are."""
        match stop:
            case ast.Call(func=ast.Name(id="len"), args=[container]):
                seen = value_of(container, self._known)
                if seen is not None and seen.is_array:
                    return self._takes(container, seen, (seen.shape or (0,))[0])
                return self._goes_through(container)
        many = self._parameters.value(stop)
        if many is not None and many >= FEWEST:
            text = f"{many} numbers in turn"
            self._numbers.append(NumbersSeen(many, text, False, self._reads_kept_ones()))
        return many is not None

    def _reads_kept_ones(self) -> bool:
        """Tell whether a turn takes an item of an array, or of what an object holds: a list that is made anew would have to become an array each time."""
        taken = (
            node.value for node in nodes_in(*self._turns.body) if isinstance(node, ast.Subscript)
        )
        seen = ((of, value_of(of, self._known)) for of in taken)
        return any(
            isinstance(of, ast.Attribute) or (value is not None and value.is_array)
            for of, value in seen
        )

    def _goes_through(self, container: ast.expr) -> bool:
        value = value_of(container, self._known)
        if value is None or not value.is_container or not _is_number(value.items):
            return False
        if value.is_mixed:
            return False
        return self._takes(container, value, value.length or 0)

    def _takes(self, container: ast.expr, value: Value, length: int) -> bool:
        if length >= FEWEST:
            text = f"{ast.unparse(container)}: {value.in_words()}"
            is_kept = value.is_array or isinstance(container, ast.Attribute)
            self._numbers.append(NumbersSeen(length, text, value.type == "dict", is_kept))
        return True

    def _is_done(self, part: ast.AST) -> bool:
        """Tell whether a statement, or what a comprehension makes, can be done for all numbers at once."""
        match part:
            case ast.Assign(targets=targets, value=value):
                return self._is_number(value) and all(map(self._is_given, targets))
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=value):
                self._computes = True
                is_sum = name not in self._own and name not in variables_read(*self._turns.body)
                self._sums.add(name)
                return (is_sum or name in self._own) and self._is_number(value)
            case ast.AugAssign(target=ast.Subscript() as target, value=value):
                self._computes = True
                return self._is_number(target) and self._is_number(value)
            case ast.If(test=test, body=body, orelse=others):
                return self._is_number(test) and self._are_done_either_way(body, others)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=to), attr="append"), args=[kept]
                )
            ):
                return self._is_number(kept) and self._only_appends(to)
            case ast.Pass() | ast.Continue():
                return True
            case ast.expr():
                return self._is_number(part)
        return False

    def _are_done_either_way(self, body: list[ast.stmt], others: list[ast.stmt]) -> bool:
        """Tell whether both branches give values to the same names: one that only one branch sets is that of the turn before in the other."""
        before = set(self._own)
        if not all(map(self._is_done, body)):
            return False
        given, self._own = self._own, before
        if not all(map(self._is_done, others)):
            return False
        self._own &= given
        return True

    def _only_appends(self, name: str) -> bool:
        """Tell whether nothing in the loop reads the list that a turn appends to."""
        nodes = list(nodes_in(*self._turns.body))
        uses = sum(isinstance(node, ast.Name) and node.id == name for node in nodes)
        appends = sum(
            isinstance(node, ast.Attribute) and node.attr == "append" and root_name(node) == name
            for node in nodes
        )
        through = names_in(*self._turns.elements.values())
        return uses == appends and name not in through

    def _are_its_places(self) -> bool:
        """Tell whether a turn reads and writes at one place alone, its own, of what has as many places as there are turns."""
        items = [
            node
            for node in nodes_in(*self._turns.body)
            if isinstance(node, ast.Subscript) and ast.unparse(node) not in self._rows
        ]
        if len({ast.unparse(each.slice) for each in items}) > 1:
            return False
        for item in items:
            seen = value_of(item.value, self._known)
            size = (seen.shape or (seen.length or 0,))[0] if seen is not None else FEWEST
            if self._table is None and size < FEWEST and seen is not None and seen.type != "dict":
                return False
        return True

    def _is_given(self, target: ast.expr) -> bool:
        if isinstance(target, ast.Name):
            self._own.add(target.id)
            return target.id not in self._sums | self._places()
        return isinstance(target, ast.Subscript) and self._is_number(target)

    def _is_number(self, expression: ast.expr) -> bool:
        """Tell whether it is a number, made of numbers by arithmetic, and the same whichever turn comes first."""
        match expression:
            case ast.Constant(value=int() | float()):
                return True
            case ast.Name(id=name) if name in self._own | self._keys:
                return True
            case ast.Name() | ast.Attribute():
                seen = value_of(expression, self._known)
                is_made = ast.unparse(expression) in self._made()
                return seen is not None and _is_number(seen.type) and not is_made
            case ast.Subscript(value=of, slice=ast.Name(id=index)):
                seen = value_of(of, self._known)
                is_row = seen is not None and len(seen.shape or ()) == 1
                holds = seen is not None and _is_number(seen.items)
                is_own = index in self._keys and (is_row or holds)
                return is_own and (ast.unparse(of) not in self._rows or self._is_row(of))
            case ast.BinOp(left=left, op=op, right=right) if is_the_same_for_arrays(
                op, left, right, has_float=self._is_float(left) or self._is_float(right)
            ):
                self._computes = True
                return self._is_number(left) and self._is_number(right)
            case ast.UnaryOp(operand=operand):
                return self._is_number(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                are_compared = all(isinstance(operator, _COMPARED) for operator in ops)
                return are_compared and all(map(self._is_number, (left, *others)))
            case ast.BoolOp(values=values):
                return all(map(self._is_number, values))
            case ast.IfExp(test=test, body=body, orelse=other):
                return all(map(self._is_number, (test, body, other)))
            case ast.Call(args=args, keywords=[]):
                return is_for_arrays(expression) and all(map(self._is_number, args))
        return False

    def _is_float(self, expression: ast.expr) -> bool:
        seen = value_of(expression, self._known)
        return seen is not None and seen.types == {"float"}

    def _is_row(self, row: ast.expr) -> bool:
        """Tell whether a row of a table is the same in all turns, or that of the outer of two loops."""
        match row:
            case ast.Subscript(slice=ast.Name(id=number)) if self._table is None:
                is_made = number in self._own | self._keys | self._made()
                return not is_made and self._is_number(row.slice)
            case ast.Subscript(slice=ast.Constant(value=int())):
                return True
        return self._table is not None

    def _places(self) -> set[str]:
        """Names that stand in brackets: numbers of places."""
        return {
            node.slice.id
            for node in nodes_in(*self._turns.body)
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)
        }

    def _made(self) -> set[str]:
        """Return names that turns assign: a turn that reads one earlier reads that of the turn before."""
        return {
            ast.unparse(node)
            for node in nodes_in(*self._turns.body)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
        }


def _is_number(type_name: str) -> bool:
    return is_number(type_name) and not is_truth(type_name)


DETECTOR: Final = Detector(
    id="number-loop",
    name="numbers that a loop of Python goes through one by one",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
