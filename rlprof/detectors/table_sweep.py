"""Tables of transitions that Python goes through, one transition after the other."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import SteadySearch, called_right_there, own_time
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines
from rlprof.source.table_sums import Lookup, TableSum, indices_of, loops_around, sums_at
from rlprof.source.value import Value, is_number
from rlprof.source.values import value_of
from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.module import Function, SourceModule, called_name

FEWEST: Final = 16
"""States from which on a sweep is told: FrozenLake's smallest map has as many."""

_ROWS: Final = frozenset({"list", "tuple", "dict", "numpy.ndarray"})
_ARRAY: Final = "numpy.ndarray"

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in these sums."""

REMOVABLE: Final = calibrated(
    Range(0.7, 0.99),
    unit="part of the sums' time",
    source="benchmarks/replacements.py, numpy 2.4: of 16 to 1 000 states with 1 to 100 transitions 0.01 to 0.27 is left",
    date="2026-11-26",
)
"""Part that goes with arrays of all transitions."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    sweeps = TableSweeps(profile, lines).found()
    time = own_time(profile, lines, sweeps, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"a table of transitions is added up in Python ({time.place})",
        savings=tuple(Saving(frozenset(sweep.nodes), REMOVABLE) for sweep in sweeps),
        locations=time.locations,
        evidence=(
            time.share_spent("in these sums"),
            f"the values of the states: {time.most.values}",
            "loops around it go through the states; a turn does arithmetic alone",
        ),
        fix="Write the table into arrays once, probabilities P (states, actions, states) and rewards R (states, actions), and take one product for "
        "all: values = (R + gamma * P @ values).max(axis=1). With many states and few transitions of each keep the next states instead: "
        "(R + gamma * (probability * values[after]).sum(axis=2)).max(axis=1).",
        confidence=Confidence.MEASURED,
    )


@dataclass(slots=True)
class TableSweep:
    """The sums of one loop, with their work."""

    place: Line
    values: str
    """The container of a value for each state, in words."""
    nodes: set[int] = field(default_factory=set)


class _Summed(NamedTuple):
    """A sum whose numbers were seen."""

    sum: TableSum
    values: Value
    """Container of a value, or a row of values, for each state."""
    text: str
    """The same as written."""


class _Caller(NamedTuple):
    node: int
    loops: Sequence[ast.expr]
    """Containers of which it hands on the elements."""


class TableSweeps(SteadySearch):
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._summed: dict[tuple[str, int], Sequence[_Summed]] = {}
        """By file and line."""

    def found(self) -> list[TableSweep]:
        found: dict[tuple[str, int], TableSweep] = {}
        us: dict[tuple[str, int], dict[Line, int]] = defaultdict(lambda: defaultdict(int))
        for node in self.tree.hot_nodes():
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            if module is None:
                continue
            for summed in self._summed_at(module, frame):
                if self._is_for_all(node, module, summed):
                    key, line = (frame.file, summed.sum.lines.start), self.lines.line(node)
                    us[key][line] += self.tree.self_cost(node).wall_us
                    words = f"{summed.text}: {summed.values.in_words()}"
                    sweep = found.setdefault(key, TableSweep(line, words))
                    sweep.nodes.update((node, *called_right_there(self.tree, node, {"numpy"})))
                    break
        for key, sweep in found.items():
            sweep.place = max(us[key], key=us[key].__getitem__)
        return list(found.values())

    def _summed_at(self, module: SourceModule, frame: Frame) -> Sequence[_Summed]:
        place = frame.file, frame.line
        if place not in self._summed:
            known = self._known(module, frame)
            summed = (_summed(one, known) for one in sums_at(module, frame.line))
            self._summed[place] = [one for one in summed if one is not None]
        return self._summed[place]

    def _known(self, module: SourceModule, frame: Frame) -> Mapping[str, Value]:
        """Return the values seen in the function: by its lines, for a comprehension has a name of its own before Python 3.12."""
        function = module.function_at(frame.line)
        first, last = (
            (function.first_line, function.last_line) if function else (frame.line, frame.line)
        )
        return self.values.between(frame.file, range(first, last + 1))

    def _is_for_all(self, node: int, module: SourceModule, summed: _Summed) -> bool:
        """Tell whether loops around it go through all states: in its function, or in the one that calls it."""
        bound = loops_around(module, summed.sum.lines.start, summed.sum.over)
        indices = indices_of(module, summed.sum, bound)
        around = [bound[name] for name in indices & bound.keys()]
        known = self._known(module, self.tree.frame(node))
        left = indices - bound.keys()
        if left:
            caller = self._caller(node, module, left)
            if caller is None:
                return False
            around += caller.loops
            frame = self.tree.frame(caller.node)
            calling = self.lines.module(frame.file)
            known = {**known, **(self._known(calling, frame) if calling else {})}
        many = _states(summed.values, of_rows=summed.sum.of_rows)
        return any(self._goes_through(loop, many, known) for loop in around)

    def _caller(self, node: int, module: SourceModule, left: set[str]) -> _Caller | None:
        """The user's line that calls the function of ``node`` with elements of loops for the parameters in ``left``."""
        frame = self.tree.frame(node)
        function = module.function_at(frame.line)
        above = self.lines.owner(self.tree.nodes[node].parent)
        while above != NO_PARENT and self._is_in(above, frame.file, function):
            above = self.lines.owner(self.tree.nodes[above].parent)
        calling = self.lines.module(self.tree.frame(above).file) if above != NO_PARENT else None
        if function is None or calling is None:
            return None
        for statement in calling.statements_at(self.tree.frame(above).line):
            for call in statement.walk():
                if not isinstance(call, ast.Call) or called_name(call) != function.node.name:
                    continue
                given = arguments_given(module, call, function) or {}
                bound = loops_around(calling, statement.first_line, call)
                handed = {
                    name: bound[value.id]
                    for name, value in given.items()
                    if isinstance(value, ast.Name) and value.id in bound
                }
                if left <= handed.keys():
                    return _Caller(above, [handed[name] for name in left])
        return None

    def _is_in(self, node: int, file: str, function: Function | None) -> bool:
        """Tell whether it is in that function: a comprehension has a frame of its own before Python 3.12."""
        frame = self.tree.frame(node)
        module = self.lines.module(frame.file)
        return (
            frame.file == file and module is not None and module.function_at(frame.line) is function
        )

    def _goes_through(self, over: ast.expr, many: int, known: Mapping[str, Value]) -> bool:
        """Tell whether a loop goes through all states, as far as is known, and in no order that means something."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[stop]):
                turns = self.parameters.value(stop)
                return (inf if turns is None else turns) >= FEWEST
            case ast.Call(func=ast.Name(id="list" | "tuple" | "enumerate"), args=[of]):
                return self._goes_through(of, many, known)
            case ast.Call(func=ast.Attribute(value=of, attr="items" | "keys"), args=[]):
                return self._goes_through(of, many, known)
            case ast.Name() | ast.Attribute():
                seen = value_of(over, known)
                return seen is not None and max(seen.length or 0, *(seen.shape or (0,))[:1]) >= many
        return False


def _summed(one: TableSum, known: Mapping[str, Value]) -> _Summed | None:
    """The sum, where all that was seen in it are numbers, and values of enough states; else nothing."""
    seen = [value for name in one.names - one.keys() if (value := known.get(name)) is not None]
    if not all(is_number(value.type) for value in seen):
        return None
    if not all(_holds_numbers(lookup, known) for lookup in one.tables):
        return None
    held = [value_of(lookup.table, known) for lookup in one.values]
    if any(value is None or _states(value, of_rows=one.of_rows) < FEWEST for value in held):
        return None
    first = held[0] if held else None
    return None if first is None else _Summed(one, first, ast.unparse(one.values[0].table))


def _states(value: Value, *, of_rows: bool) -> int:
    """Return how many values, or rows of values, it holds; 0 for anything else."""
    if value.type == _ARRAY:
        shape = value.shape or ()
        return shape[0] if len(shape) == 1 + of_rows else 0
    holds = value.items in _ROWS if of_rows else is_number(value.items)
    return (value.length or 0) if value.is_container and holds else 0


def _holds_numbers(lookup: Lookup, known: Mapping[str, Value]) -> bool:
    """Tell whether an item of a table is a number: an array has as many axes as there are indices, and lists in lists are taken for such."""
    seen = value_of(lookup.table, known)
    if seen is None:
        return False
    if seen.type == _ARRAY:
        return len(seen.shape or ()) == len(lookup.indices)
    return seen.is_container and (len(lookup.indices) > 1 or is_number(seen.items))


DETECTOR: Final = Detector(
    id="table-sweep",
    name="tables of transitions that are added up in Python",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
