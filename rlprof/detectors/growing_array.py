"""Arrays that grow by being copied: each append makes a new one of all that was there before."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import LineTime
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import calls_in

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.75, 0.99),
    unit="part of the call's time",
    source="benchmarks/replacements.py: 0.2 µs are left of 0.9 for 100 rows of 4, of 51 for 4 000 of 64",
    date="2026-11-23",
)
"""Part that goes where a row is written into an array made once."""

BESIDE_OTHERS: Final = Range(0.3, 0.99)
"""The same where the line calls something else, too: nobody knows which of them takes how much."""

NEW_PART: Final = Range(0.0, 0.99)
"""Part that goes of what makes the array to be joined: a number is written into a row as it is, another array is
needed in any case."""

_JOINS: Final = frozenset(
    {"append", "concatenate", "concat", "hstack", "vstack", "row_stack", "column_stack", "stack", "cat", "insert"}
)  # fmt: skip
"""Functions of array libraries that make a new array of several."""
_COPIES: Final = frozenset(
    {"copy", "clone", "contiguous", "detach", "astype", "to", "float", "reset_index", "drop_duplicates", "tail"}
)  # fmt: skip
"""Methods whose result is as long, or a part."""
_LIBRARIES: Final = ("numpy.", "torch.", "jax.", "pandas.", "cupy.")


class _GrowingStatement(NamedTuple):
    """A statement that makes something longer by copying it."""

    operand: str
    """Operand that grows, as written."""
    callee: str
    """Last name of what joins it; empty for ``+``."""
    value: Value | None
    """Value that grows, where a look has told."""
    is_alone: bool
    """True if nothing else is called on its lines."""
    makers: frozenset[str]
    """Last names of what is called to make the new part."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    values = Values(profile.values)
    known: dict[tuple[str, int], _GrowingStatement | None] = {}
    alone: set[int] = set()
    shared: set[int] = set()
    made: set[int] = set()
    time = LineTime(profile, lines)
    grown: dict[Line, _GrowingStatement] = {}
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        if not lines.is_yours(frame) or not lines.is_repeated(node):
            continue
        key = (frame.file, frame.line)
        if key not in known:
            growths = (
                _growth(statement, values.of(frame.file, statement))
                for statement in lines.statements(frame)
            )
            known[key] = next(filter(None, growths), None)
        growth = known[key]
        if growth is None:
            continue
        joining = _below(tree, node, {growth.callee})
        made_by = _below(tree, node, growth.makers - {growth.callee})
        # What the program computes to be joined it would compute anyhow.
        making = [] if any(lines.is_yours(tree.frame(maker)) for maker in made_by) else made_by
        (alone if growth.is_alone else shared).add(node)
        alone.update(joining)
        made.update(making)
        line = lines.line(node)
        all_of_it = (node, *joining, *making)
        time.add(line, tree.cost_of(all_of_it).wall_us, all_of_it)
        grown[line] = growth
    if not time.is_worth(MIN_SHARE):
        return
    told = grown[time.heaviest]
    and_made = ", and on making that" if made else ""
    yield Finding(
        title=f"{told.operand} grows by copying all of it ({time.place})",
        savings=tuple(
            Saving(frozenset(nodes), removable)
            for nodes, removable in (
                (alone, REMOVABLE),
                (shared - alone, BESIDE_OTHERS),
                (made - alone - shared, NEW_PART),
            )
            if nodes
        ),
        locations=time.locations,
        evidence=(
            time.share_spent(f"on joining it with what is new{and_made}"),
            *_size(told),
        ),
        fix="Make the array once, at its full length (np.empty((capacity, size))), write each row into its place and "
        "keep count; or append to a list, and make one array of it when it is needed.",
        # Two kinds of evidence: the text, and what was seen there.
        confidence=Confidence.MEASURED if told.value else Confidence.BOUNDED,
    )


def _below(tree: CallTree, node: int, names: Collection[str]) -> list[int]:
    """The nodes of what ``node`` calls by one of ``names``."""
    return [
        inner
        for child in tree.children(node)
        if last_name(tree.frame(child).function) in names
        for inner in tree.subtree(child)
    ]


def _size(growth: _GrowingStatement) -> Iterator[str]:
    if growth.value is not None:
        longer = ", longer at each look" if growth.value.grows() else ""
        yield f"{growth.operand} was last seen as {growth.value.in_words()}{longer}"


def _growth(statement: Statement, known: Mapping[str, Value]) -> _GrowingStatement | None:
    """Return what the statement makes longer: it is both given and assigned, or was longer at each look."""
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return None  # In place, where the type allows it.
    targets = {
        ast.unparse(target) for target in (node.targets if isinstance(node, ast.Assign) else ())
    }
    calls = list(statement.calls())
    for call in calls:
        if not _joins(call, known):
            continue
        for joined in _joined(call):
            text = ast.unparse(joined)
            value = value_of(joined, known)
            if (
                value is not None
                and not value.is_array
                and value.type != "pandas.core.frame.DataFrame"
            ):
                continue
            is_kept = text in targets and _is_result(call, node)
            if is_kept or (value is not None and value.grows()):
                others = {called_name(other) for other in calls} - {called_name(call)}
                makers = frozenset(
                    called_name(inner) for part in call.args for inner in calls_in(part)
                )
                return _GrowingStatement(text, called_name(call), value, not others, makers)
    return None


def _is_result(call: ast.Call, statement: ast.stmt) -> bool:
    """Tell whether the statement assigns what the call gives, or a part or a copy of it, and not what something else makes of it."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    while value is not call:
        match value:
            case ast.Subscript(value=inner):
                value = inner
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _COPIES:
                value = inner
            case _:
                return False
    return True


def _joins(call: ast.Call, known: Mapping[str, Value]) -> bool:
    """Tell whether it is a function of an array library that makes a new array of several: by its identity, or its name
    where that is not known.
    """
    callee = value_of(call.func, known)
    if callee is not None and callee.function:
        last = callee.function.rpartition(".")[2]
        return last in _JOINS and callee.function.startswith(_LIBRARIES)
    return (
        callee is None
        and called_name(call) in _JOINS
        and isinstance(call.func, ast.Attribute)
        and len(call.args) > 0
    )


def _joined(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what may be joined: the arguments, and the elements of those that are written as lists."""
    for argument in call.args:
        yield from argument.elts if isinstance(argument, ast.Tuple | ast.List) else (argument,)


DETECTOR: Final = Detector(
    id="growing-array",
    name="arrays that grow by copying",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
