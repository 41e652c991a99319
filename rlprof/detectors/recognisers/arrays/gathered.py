"""Tell arrays and lists that are put together of parts: a window that moves on, the lists of an observation, rows that were appended."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Final

from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.made_anew import value_before
from rlprof.syntax.module import SourceModule, Statement, called_name, variables_assigned
from rlprof.syntax.nodes import owner_of, targets_of

FEW: Final = calibrated(
    16,
    unit="values",
    source="Python 3.11: among ten a search by hand takes 1 to 3 µs, and what takes its place 0.3 to 14",
    date="2026-11-21",
)
"""Up to which a search by hand may be as quick as what takes its place."""

_MANY_PARTS: Final = 4
"""Parts of a container from which on a call for each of them takes more than one for all."""
_MOST_IN_PARTS: Final = calibrated(
    64,
    unit="numbers",
    source="by hand, Python 3.11, numpy 2.4: what made an array of each and joined these takes 0.25 to 0.37 of its time as one array for five lists of 36 numbers in all, 0.5 to 0.65 for four of 64, 0.77 to 0.9 for five of 706",
    date="2026-11-30",
)
"""Numbers of all parts up to which it is the calls that take the time."""
_MOST_OF_A_WINDOW: Final = calibrated(
    Range(64, 4096),
    unit="numbers",
    source="Python 3.11, numpy 2.4: windows of 64 arrays of 4, 64 and 256, moved in place, take 0.14, 0.27 and 0.65 of np.concatenate",
    date="2026-11-29",
)
"""Numbers of each array, and of all of them, up to which it is the calls that take the time of a join."""


def is_window(value: Value | None) -> bool:
    """Tell a deque of small arrays that is as long at each look: as one comes, another one goes."""
    if value is None or value.type != "collections.deque" or len(value.counts) != 1:
        return False
    length, each = value.length or 0, value.numbers_of_first or 0
    most_each, most = _MOST_OF_A_WINDOW
    return length > FEW and 0 < each <= most_each and length * each <= most


def is_part_of_lists(
    part: ast.expr, statement: Statement, module: SourceModule, known: Mapping[str, Value]
) -> bool:
    """Tell whether a loop goes through the parts of a container, which are lists themselves: ``np.ravel(obs[key])``."""
    match part:
        case ast.Subscript(value=of, slice=ast.Name(id=place)):
            loops = module.loops_around(statement.first_line)
            whole = value_of(of, known)
            return (
                whole is not None
                and whole.is_container
                and whole.items in ("list", "tuple")
                and (whole.length or 0) >= _MANY_PARTS
                and 0 < _numbers(whole) <= _MOST_IN_PARTS
                and not _keeps_by(place, statement)
                and any(
                    place in variables_assigned(loop.target)
                    and ast.unparse(of) in map(ast.unparse, ast.walk(loop.iter))
                    for loop in loops
                )
            )
    return False


def _keeps_by(place: str, statement: Statement) -> bool:
    """Tell whether each part stays one of its own, under its name: ``parts[key] = np.asarray(obs[key])``."""
    return any(
        isinstance(target, ast.Subscript) and ast.unparse(target.slice) == place
        for target in targets_of(statement.node)
    )


def _numbers(container: Value) -> int:
    """Count the numbers in all parts of a container, if all are as long as the first."""
    first = container.first
    return (container.length or 0) * ((first.length if first is not None else None) or 0)


def filled_anew(
    statement: Statement, module: SourceModule, seen: Callable[[Statement], Mapping[str, Value]]
) -> frozenset[str]:
    """Return the variables given to calls that were seen to be lists, and are of this turn, or this call, alone: ``rows = []``, to which rows are
    appended. To write these into an array one by one takes as long: 2.3 µs and 2.5 for 32 numbers, 14 and 16 for 32 lists of 4.
    """
    given = {
        first.id: first
        for call in statement.calls()
        for first in call.args[:1]
        if isinstance(first, ast.Name)
    }
    appended = {
        ast.unparse(owner)
        for other in (module.of_function(statement.function) if given else ())
        for call in other.calls()
        if called_name(call) == "append"
        for owner in owner_of(call)
    }
    known = seen(statement) if given.keys() & appended else {}
    return frozenset(
        name
        for name in given.keys() & appended
        if (value := known.get(name)) is not None
        and value.type == "list"
        and _is_empty_list(value_before(given[name], statement, module))
    )


def _is_empty_list(value: ast.expr | None) -> bool:
    return isinstance(value, ast.List) and not value.elts
