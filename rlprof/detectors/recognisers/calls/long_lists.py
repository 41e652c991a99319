"""Tell what goes through a whole list, moves, sorts or copies all of it at each call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.calls.list_uses import (
    is_kept_in_order,
    is_made_an_array,
    is_new_for_its_search,
    is_only_gone_through,
)
from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.made_anew import is_made_anew
from rlprof.syntax.module import SourceModule, Statement, called_name, variables_read

SEARCHED: Final = SlowCall(
    "a long list is searched",
    "Keep what is looked for in a set, or in a dictionary with its place: finding it there takes the same time however many there are.",
    Range(0.7, 0.99),
)
MOVED: Final = SlowCall(
    "all of a long list is moved to use its front",
    "Take a collections.deque(maxlen=...): append and popleft take the same time however long it is. For random picks write into "
    "arrays of a fixed length, at a place that goes round.",
    Range(0.8, 0.99),
)

MOVED_IN_ORDER: Final = SlowCall(
    "a sorted list is moved to use its front",
    "Where nothing but the front is used, take a heap in place of the sorted list: heapq.heappop(events) takes the least, heapq.heappush(events, "
    "event) puts one in, and events[0] is the least of all.",
    # Of del events[0] and bisect.insort of 5 000 to 100 000 pairs a heap leaves 0.06 to 0.45, most of which is for the first of them.
    Range(0.0, 0.95),
)

CUT_OFF: Final = SlowCall(
    "all of a long list is copied to cut off its front",
    "Take a collections.deque(maxlen=...), which lets go of the oldest by itself. For random picks write into arrays of a fixed length, at a "
    "place that goes round. Or cut it off once it has twice the length.",
    # A deque that drops one as one comes takes 0.05 µs, the copy of 1 000 elements 4.
    Range(0.8, 0.99),
)

SEARCHED_ARRAYS: Final = SlowCall(
    "a list of arrays is compared one by one",
    "Keep x.tobytes() of each in a set, as long as all are of one dtype and shape: finding it there takes the same time however many there are. "
    "Of floats take (x + 0.0).tobytes(): -0.0 equals 0.0, and has other bytes.",
    # One array_equal of a few numbers takes 1.5 to 4 µs, tobytes() and the look-up in a set 0.2, with the sum 0.6.
    Range(0.85, 0.99),
)

COPIED: Final = SlowCall(
    "a long container is copied each time",
    "Keep a list of the keys beside it, to which each new one is appended, and pick from that by an index: "
    "keys[rng.integers(len(keys))]. Of a deque take a list of fixed length that is written in turn.",
    # The copy is freed at a later line. Of one program 0.49 was seen at the line, and 0.69 saved (docs/accuracy.md, 2026-11-25).
    Range(0.8, 1.3),
)

SORTED: Final = SlowCall(
    "a long list is sorted for a few elements",
    "Keep it sorted as elements come (bisect.insort), which takes some steps for each. Or take heapq.nlargest, or max and min, which go "
    "through it once.",
    # A list that is kept sorted leaves 0.004 or less, heapq 0.2 to 0.7 of the largest 8 and nothing less of half of them
    # (benchmarks/replaced_calls.py).
    Range(0.0, 0.99),
)

SORTED_FOR_PART: Final = SlowCall(
    "a long list is sorted for a part of it",
    "Where it is the same list each time, keep it sorted as elements come (bisect.insort). Where few of them are taken, up to one in "
    "thirty, heapq.nlargest goes through it once; to take more of a new list, sorting it is the quickest way there is.",
    Range(0.0, 0.99),
)

KEPT_BY_SORTING: Final = SlowCall(
    "a long list is sorted anew each time",
    "Keep it sorted as elements come: bisect.insort puts each in its place, and del takes those that are too many off an end. "
    "That is quicker where a few elements come between two sorts, and slower where many do.",
    # For one element that came, of 1 000 to 50 000, 0.01 to 0.08 is left (benchmarks/replaced_calls.py); for some twenty, nothing less.
    Range(0.0, 0.99),
)


_LONG_TO_COPY: Final = 200
"""Elements, each of which takes 5 to 10 ns to copy."""
_LONG_TO_SORT: Final = 1_000
"""Elements from which on heapq is the faster one."""
_FEW: Final = 0.03
"""Part of the elements up to which heapq is the faster one: of 1 000 it takes 0.5 of sorting for 1 %, 1.25 for 5 % and 3.9 for a
quarter, of 10 000 0.3, 0.8 and 2.5 (random numbers, CPython 3.11)."""
_LONG_TO_SEARCH: Final = 200
"""Elements, each of which takes 10 ns or more to compare."""
_LONG_TO_MOVE: Final = 5_000
"""Elements, of which a thousand take 0.1 µs to move or less."""
_MANY_ARRAYS: Final = 10
"""Arrays, each of which takes microseconds to compare."""
_MOVES: Final = frozenset({"pop", "insert"})
_SEARCHES: Final = frozenset({"index", "remove"})
_COPIES: Final = frozenset({"list", "tuple"})
_VIEWS: Final = frozenset({"keys", "values", "items"})
_PICKS: Final = frozenset({"choice", "choices", "sample"})
CONTAINERS: Final = (
    "list",
    "tuple",
    "dict",
    "set",
    "frozenset",
    "collections.deque",
    "collections.OrderedDict",
    "collections.defaultdict",
)
_EQUALS: Final = frozenset({"numpy.array_equal", "torch.equal"})
_EXTREMES: Final = frozenset({"max", "min"})


class OnList(NamedTuple):
    call: SlowCall
    seen: str
    """Words for the value that it is done to."""
    calls: int | None
    """How many of the statement's calls do it, or use nothing else than what it gives; None where less of its time may go in any case."""
    removable: Range | None = None
    """Part that goes, where what was seen tells it more closely than the call."""


def done_to_a_long_list(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return what ``statement`` does to a list that was seen to be long."""
    for copied, calls in _copied(statement, module):
        if seen := long_container(copied, known, CONTAINERS, _LONG_TO_COPY):
            return OnList(COPIED, seen, calls)
    for of, calls, taken in _sorted_for_a_part(statement):
        seen = long_container(of, known, CONTAINERS, _LONG_TO_SORT)
        if seen and (slow := _slow_sort(statement, of, taken, known)):
            return OnList(slow, seen, calls)
    for cut, calls in _cut_off(statement):
        seen = long_container(cut, known, ("list",), _LONG_TO_COPY)
        if seen and not _has_to_be_cut(cut, statement, module):
            return OnList(CUT_OFF, seen, calls)
    for container in _compared_with_each(statement, known):
        if seen := long_container(container, known, ("list", "collections.deque"), _MANY_ARRAYS):
            return OnList(SEARCHED_ARRAYS, seen, calls=2)
    for node in statement.walk():
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Del):
            if _is_front(node.slice) and (seen := _moved(node.value, known)):
                return OnList(_moving(node.value, statement, module), seen, calls=0)
        elif isinstance(node, ast.Compare):
            for operator, container in zip(node.ops, node.comparators, strict=True):
                is_search = isinstance(operator, ast.In | ast.NotIn)
                is_new = is_search and is_new_for_its_search(container, node, statement, module)
                if is_search and not is_new and (seen := _searched(container, known)):
                    return OnList(SEARCHED, seen, calls=0)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, first, name = node.func.value, node.args[0], called_name(node)
            is_at_the_front = isinstance(first, ast.Constant) and first.value == 0
            is_of_extreme = isinstance(first, ast.Call) and called_name(first) in _EXTREMES
            if name in _MOVES and is_at_the_front and (seen := _moved(owner, known)):
                return OnList(_moving(owner, statement, module), seen, calls=1)
            is_search = name in _SEARCHES and not is_of_extreme
            is_new = is_search and is_new_for_its_search(owner, node, statement, module)
            if is_search and not is_new and (seen := _searched(owner, known)):
                return OnList(SEARCHED, seen, calls=1)
    return None


def _copied(statement: Statement, module: SourceModule) -> Iterator[tuple[ast.expr, int]]:
    """Yield what is copied into a list that is kept in a variable, indexed, or picked from, with the calls that belong to that:
    three in ``random.choice(list(table.keys()))``. One that loops go through is there so that the container may change meanwhile.
    """
    copies: list[tuple[ast.expr, int]] = []
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if not is_only_gone_through(
            name, statement, module
        ):
            copies.append((value, 0))
    for node in statement.walk():
        match node:
            case ast.Subscript(value=value):
                copies.append((value, 0))
            case ast.Call(args=[value, *_]) if called_name(node) in _PICKS:
                copies.append((value, 1))
    for copy, picks in copies:
        match copy:
            case ast.Call(
                func=ast.Name(id=name), args=[ast.Call(func=ast.Attribute(owner, view), args=[])]
            ) if name in _COPIES and view in _VIEWS:
                yield owner, 2 + picks
            case ast.Call(func=ast.Name(id=name), args=[owner]) if name in _COPIES:
                yield owner, 1 + picks


def _cut_off(statement: Statement) -> Iterator[tuple[ast.expr, int]]:
    """Yield the list that is made anew without its first elements, ``xs = xs[-n:]`` or ``xs = xs[1:]``, with the calls that belong to that."""
    match statement.node:
        case ast.Assign(
            targets=[target],
            value=ast.Subscript(value=cut, slice=ast.Slice(upper=None, step=None, lower=first)),
        ) if ast.unparse(target) == ast.unparse(cut):
            match first:
                case ast.UnaryOp(op=ast.USub()) | ast.Constant(value=1):
                    yield cut, 0


def _has_to_be_cut(cut: ast.expr, statement: Statement, module: SourceModule) -> bool:
    """Tell whether a deque would be no gain: the list is another one each time, is sorted, or is made an array."""
    return (
        is_made_anew(cut, statement, module)
        or is_kept_in_order(cut, statement, module)
        or is_made_an_array(cut, statement, module)
    )


def _moving(container: ast.expr, statement: Statement, module: SourceModule) -> SlowCall:
    return MOVED_IN_ORDER if is_kept_in_order(container, statement, module) else MOVED


def _is_front(place: ast.expr) -> bool:
    """Tell ``0`` and ``:1``."""
    match place:
        case (
            ast.Constant(value=0)
            | ast.Slice(lower=None | ast.Constant(value=0), upper=ast.Constant(value=1), step=None)
        ):
            return True
    return False


def _compared_with_each(statement: Statement, known: Mapping[str, Value]) -> Iterator[ast.expr]:
    """Yield the container with each element of which an array is compared, for nothing but whether it is there:
    ``any(np.array_equal(x, seen) for seen in visited)``.
    """
    for node in statement.walk():
        match node:
            case ast.Call(
                func=ast.Name("any"),
                args=[
                    ast.GeneratorExp(elt, [each]) | ast.ListComp(elt, [each]),
                ],
            ):
                match elt, each:
                    case (
                        ast.Call(args=[one, other]),
                        ast.comprehension(target=ast.Name(id=name), iter=container, ifs=[]),
                    ):
                        callee = value_of(elt.func, known)
                        of_each = [name in variables_read(part) for part in (one, other)]
                        if callee is not None and callee.function in _EQUALS and sum(of_each) == 1:
                            yield container


def _sorted_for_a_part(statement: Statement) -> Iterator[tuple[ast.expr, int, int | None]]:
    """Yield what is sorted where the statement itself picks from the result, with the calls that belong to that, and how many
    elements it takes; None where that is not written there.
    """
    for node in statement.walk():
        match node:
            case ast.Subscript(
                value=ast.Call(func=ast.Name("sorted"), args=[of]) as call, slice=part
            ) if count := _count_from_an_end(part):
                within = sum(isinstance(part, ast.Call) for part in ast.walk(call))
                match of:
                    case ast.Call(func=ast.Attribute(owner, view), args=[]) if view in _VIEWS:
                        of = owner
                taken = count.value if isinstance(count, ast.Constant) else None
                yield of, within, taken if isinstance(taken, int) else None


def _count_from_an_end(part: ast.expr) -> ast.expr | None:
    """Return how many are picked from either end, as it is written; None for what picks others."""
    match part:
        case ast.Constant(value=0) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return ast.Constant(1)
        case (
            ast.Slice(lower=None, upper=count, step=None)
            | ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=count), upper=None, step=None)
        ) if isinstance(count, ast.Name | ast.Attribute | ast.Constant):
            return count
    return None


def _slow_sort(
    statement: Statement, of: ast.expr, taken: int | None, known: Mapping[str, Value]
) -> SlowCall | None:
    """Return the advice that is quicker than to sort ``of``; None where nothing may be: to take more than a few, sorting is the quickest."""
    value = value_of(of, known)
    if taken is not None and value is not None and taken <= _FEW * (value.length or 0):
        return SORTED
    match statement.node:
        case ast.Assign(targets=[target], value=ast.Subscript()) if ast.unparse(
            target
        ) == ast.unparse(of):
            return KEPT_BY_SORTING
    return SORTED_FOR_PART if taken is None else None


def _searched(container: ast.expr, known: Mapping[str, Value]) -> str:
    return long_container(container, known, ("list", "collections.deque"), _LONG_TO_SEARCH)


def _moved(container: ast.expr, known: Mapping[str, Value]) -> str:
    return long_container(container, known, ("list",), _LONG_TO_MOVE)


def long_container(
    container: ast.expr, known: Mapping[str, Value], types: Collection[str], shortest: int
) -> str:
    """The container in words, where it was seen to have as many elements as ``shortest``; else nothing."""
    value = value_of(container, known)
    if value is None or value.type not in types or (value.length or 0) < shortest:
        return ""
    return f"{ast.unparse(container)}: {value.in_words()}"
