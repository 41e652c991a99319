"""Arrays that grow by being copied: each append makes a new one of all that was there before."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.arrays.array_joins import (
    cuts_off,
    goes_through_items,
    is_result,
    joins_in,
    kept_at,
)
from rlprof.detectors.recognisers.line_time import LineTime
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import arguments_of, calls_in, without_index

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

OF_WINDOW: Final = calibrated(
    Range(0.2, 0.92),
    unit="part of the call's time",
    source="by hand, numpy 2.4: a view of an array of twice the length takes 0.61 µs of 1.72 for 16 numbers, 0.49 of 4.0 for 1 000 rows of 4; moved in place as a "
    "whole, 0.5 to 2.5 of the time is left",
    date="2026-11-30",
)
"""Part that goes where only so many of the last rows are kept."""

NEW_PART: Final = Range(0.0, 0.99)
"""Part that goes of what makes the array to be joined: a number is written into a row as it is, another array is
needed in any case."""

_SHAPES: Final = 4
"""Different shapes that say that something grows of which the statement assigns nothing itself: batches have two or three."""


class _Told(NamedTuple):
    title: str
    fix: str


_GROWING: Final = _Told(
    "grows by copying all of it",
    "Make the array once, at its full length (np.empty((capacity, size))), write each row into its place and "
    "keep count; or append to a list, and make one array of it when it is needed.",
)
_WINDOW: Final = _Told(
    "is copied whole for each new part",
    "Write each part into an array of twice the length, rows[end] = row, and take the window as a view, rows[end - n:end]; at the end move "
    "the last n to its front. Copy the view where it is kept for later.",
)


class _GrowingStatement(NamedTuple):
    """A statement that makes something longer by copying it."""

    operand: str
    """Operand that grows, as written."""
    callee: str
    """Last name of what joins it."""
    value: Value | None
    """Value that grows, where a look has told."""
    is_alone: bool
    """True if nothing else is called on its lines."""
    makers: frozenset[str]
    """Last names of what is called to make the new part."""
    is_window: bool
    """True if it is cut to the same length each time."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    values = Values(profile.values)
    joining_at: dict[tuple[str, int], bool] = {}
    known: dict[tuple[str, int, frozenset[str]], _GrowingStatement | None] = {}
    alone: set[int] = set()
    shared: set[int] = set()
    made: set[int] = set()
    windows: set[int] = set()
    time = LineTime(profile, lines)
    grown: dict[Line, _GrowingStatement] = {}
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        if not lines.is_yours(frame) or not lines.is_repeated(node):
            continue
        place = (frame.file, frame.line)
        if place not in joining_at:
            joining_at[place] = any(
                True
                for statement in lines.statements(frame)
                for _ in joins_in(statement, values.of(frame.file, statement))
            )
        if not joining_at[place]:
            continue
        key = (*place, kept_at(lines, node))
        if key not in known:
            growths = (
                _growth(statement, values.of(frame.file, statement), key[-1])
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
        whole = windows if growth.is_window else alone
        (whole if growth.is_alone else shared).add(node)
        whole.update(joining)
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
        title=f"{told.operand} {_WINDOW.title if told.is_window else _GROWING.title} ({time.place})",
        savings=tuple(
            Saving(frozenset(nodes), removable)
            for nodes, removable in (
                (alone, REMOVABLE),
                (windows - alone, OF_WINDOW),
                (shared - alone - windows, BESIDE_OTHERS),
                (made - alone - windows - shared, NEW_PART),
            )
            if nodes
        ),
        locations=time.locations,
        evidence=(
            time.share_spent(f"on joining it with what is new{and_made}"),
            *_size(told),
        ),
        fix=_WINDOW.fix if told.is_window else _GROWING.fix,
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


def _growth(
    statement: Statement, known: Mapping[str, Value], kept: Collection[str]
) -> _GrowingStatement | None:
    """Return what the statement makes longer: it is both given and ``kept``, or was longer at each look."""
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return None  # In place, where the type allows it.
    calls = list(statement.calls())
    for join in joins_in(statement, known):
        of_items = goes_through_items(join, statement)
        for joined in join.parts:
            whole = without_index(joined) if of_items else joined
            text, value = ast.unparse(whole), value_of(whole, known)
            is_given = not statement.in_loop and text in _parameters(statement)
            if value is not None and not (_holds_arrays(value) if of_items else _is_array(value)):
                continue
            # Who is given it by a caller, or takes it from a container, has it of any length.
            is_seen = value is not None and value.shapes_of_one_rank >= _SHAPES
            is_shown = is_seen or not (of_items or is_given or isinstance(node, ast.Return))
            is_kept = text in kept and is_result(join.node, node) and is_shown
            if is_kept or (value is not None and value.grows()):
                others = {called_name(other) for other in calls if other is not join.node}
                makers = frozenset(
                    called_name(inner) for part in join.given for inner in calls_in(part)
                )
                is_alone = not others - {join.frame}
                is_window = cuts_off(join.node, statement)
                return _GrowingStatement(text, join.frame, value, is_alone, makers, is_window)
    return None


def _parameters(statement: Statement) -> Collection[str]:
    return arguments_of(statement.function.node) if statement.function else ()


def _is_array(value: Value) -> bool:
    return value.is_array or value.type == "pandas.core.frame.DataFrame"


def _holds_arrays(value: Value) -> bool:
    return value.is_container and value.items in ("numpy.ndarray", "torch.Tensor")


DETECTOR: Final = Detector(
    id="growing-array",
    name="arrays that grow by copying",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
