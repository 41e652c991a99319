"""Tell what goes through a whole list, moves, sorts or copies all of it, or makes text of it, at each call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.lookups import is_made_for_keys, keys_in
from rlprof.syntax.module import SourceModule, Statement, called_name

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

TEXT: Final = SlowCall(
    "a list of numbers is made into text",
    "As a key of a dictionary take tuple(numbers), or array.tobytes() of an array; for output make the text only of what is shown.",
    # Of 8 to 64 numbers 0.01 to 0.1 is left (benchmarks/replaced_calls.py).
    Range(0.8, 0.99),
)

DRAWN: Final = SlowCall(
    "choice(p=...) goes through all probabilities",
    "Keep the priorities in a sum tree, in which a draw and a change take some steps however many there are. Or draw by "
    "np.searchsorted(np.cumsum(p), rng.random(k)), without the checks that choice makes.",
    # 64 draws from 1 000 to 100 000: the second leaves 0.47 to 0.49 (benchmarks/replaced_calls.py, numpy 2.4).
    Range(0.45, 0.95),
)

_MOST_STEPS_TO_ODDS: Final = 4
_BESIDE_THE_DRAW: Final = -1
"""Calls of no line: one way to draw needs the odds all the same, so that less of their time may go than of the draw's."""
_OF_ODDS: Final = (ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.expr_context, ast.Subscript, ast.Slice)  # fmt: skip
_LONG_TO_DRAW: Final = 1_000
"""Probabilities, each of which takes some ns to add up and to check."""
_LONG_TO_COPY: Final = 200
"""Elements, each of which takes 5 to 10 ns to copy."""
_LONG_TO_SORT: Final = 1_000
"""Elements from which on heapq is the faster one."""
_LONG_FOR_TEXT: Final = 8
"""Numbers, each of which takes some 60 ns to write."""
_LONG_TO_SEARCH: Final = 200
"""Elements, each of which takes 10 ns or more to compare."""
_LONG_TO_MOVE: Final = 5_000
"""Elements, of which a thousand take 0.1 µs to move or less."""
_MOVES: Final = frozenset({"pop", "insert"})
_SEARCHES: Final = frozenset({"index", "remove", "count"})
_COPIES: Final = frozenset({"list", "tuple"})
_VIEWS: Final = frozenset({"keys", "values", "items"})
_PICKS: Final = frozenset({"choice", "choices", "sample"})
_CONTAINERS: Final = (
    "list",
    "tuple",
    "dict",
    "set",
    "frozenset",
    "collections.deque",
    "collections.OrderedDict",
    "collections.defaultdict",
)
_EXTREMES: Final = frozenset({"max", "min"})
_WRITES: Final = frozenset({"str", "repr"})


class OnList(NamedTuple):
    call: SlowCall
    seen: str
    """Words for the value that it is done to."""
    calls: int
    """Of the statement's calls those that do it, or use nothing else than what it gives."""


def done_to_a_long_list(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return what ``statement`` does to a list that was seen to be long."""
    for copied, calls in _copied(statement):
        if seen := _long(copied, known, _CONTAINERS, _LONG_TO_COPY):
            return OnList(COPIED, seen, calls)
    for of, calls in _sorted_for_a_few(statement):
        if seen := _long(of, known, _CONTAINERS, _LONG_TO_SORT):
            return OnList(SORTED, seen, calls)
    for of, calls in _texts_for_keys(statement, known, module):
        if seen := _many_numbers(of, known):
            return OnList(TEXT, seen, calls)
    if seen := _made_to_draw_from(statement, known, module):
        return OnList(DRAWN, seen, calls=_BESIDE_THE_DRAW)
    for node in statement.walk():
        if isinstance(node, ast.Compare):
            for operator, container in zip(node.ops, node.comparators, strict=True):
                is_search = isinstance(operator, ast.In | ast.NotIn)
                if is_search and (seen := _searched(container, known)):
                    return OnList(SEARCHED, seen, calls=0)
        elif (
            isinstance(node, ast.Call)
            and called_name(node) == "choice"
            and (seen := _drawn(node, known))
        ):
            return OnList(DRAWN, seen, calls=1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, first, name = node.func.value, node.args[0], called_name(node)
            is_at_the_front = isinstance(first, ast.Constant) and first.value == 0
            is_of_extreme = isinstance(first, ast.Call) and called_name(first) in _EXTREMES
            if name in _MOVES and is_at_the_front and (seen := _moved(owner, known)):
                return OnList(MOVED, seen, calls=1)
            if name in _SEARCHES and not is_of_extreme and (seen := _searched(owner, known)):
                return OnList(SEARCHED, seen, calls=1)
    return None


def _copied(statement: Statement) -> Iterator[tuple[ast.expr, int]]:
    """Yield what is copied into a list that is kept in a variable, indexed, or picked from, with the calls that belong to that:
    three in ``random.choice(list(table.keys()))``.
    """
    copies: list[tuple[ast.expr, int]] = []
    match statement.node:
        case ast.Assign(targets=[ast.Name()], value=value):
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


def _sorted_for_a_few(statement: Statement) -> Iterator[tuple[ast.expr, int]]:
    """Yield what is sorted where the statement itself picks from the result, with the calls that belong to that."""
    for node in statement.walk():
        match node:
            case ast.Subscript(
                value=ast.Call(func=ast.Name("sorted"), args=[of]) as call, slice=part
            ) if _is_short(part):
                within = sum(isinstance(it, ast.Call) for it in ast.walk(call))
                match of:
                    case ast.Call(func=ast.Attribute(owner, view), args=[]) if view in _VIEWS:
                        of = owner
                yield of, within


def _is_short(part: ast.expr) -> bool:
    """Tell whether it picks the first or the last, or may pick a few from either end."""
    match part:
        case ast.Constant(value=0) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
        case ast.Slice(lower=None, upper=ast.Name() | ast.Attribute() | ast.Constant(), step=None):
            return True
        case ast.Slice(
            lower=ast.UnaryOp(op=ast.USub(), operand=ast.Name() | ast.Attribute() | ast.Constant()),
            upper=None,
            step=None,
        ):
            return True
    return False


def _texts_for_keys(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> Iterator[tuple[ast.expr, int]]:
    """Yield what is made into text only to look something up by it, with the calls that belong to that."""
    texts: list[tuple[ast.expr | None, int]] = []
    match statement.node:
        case ast.Assign(value=value) | ast.Return(value=value) if is_made_for_keys(
            module, statement
        ):
            texts.append((value, 1))
    for node in statement.walk():
        for key, owner in keys_in(node):
            seen = value_of(owner, known) if owner is not None else None
            if owner is None or (seen is not None and seen.type in _CONTAINERS):
                texts.append((key, 1 + (owner is not None)))
    for text, calls in texts:
        match text:
            case ast.Call(func=ast.Name(id=name), args=[of]) if name in _WRITES:
                yield of, calls + isinstance(of, ast.Call)


def _many_numbers(written: ast.expr, known: Mapping[str, Value]) -> str:
    """The array or list in words, where it was seen to have many numbers: ``array.tolist()`` has those of the array."""
    match written:
        case ast.Call(func=ast.Attribute(value=of, attr="tolist"), args=[]):
            value = value_of(of, known)
            is_many = value is not None and (value.numbers or 0) >= _LONG_FOR_TEXT
            return f"{ast.unparse(of)}: {value.in_words()}" if value is not None and is_many else ""
    value = value_of(written, known)
    if value is None or not value.items.startswith(("int", "float")):
        return ""
    return _long(written, known, ("list", "tuple"), _LONG_FOR_TEXT)


def _drawn(call: ast.Call, known: Mapping[str, Value]) -> str:
    """The probabilities in words, where they were seen to be many."""
    for keyword in call.keywords:
        value = value_of(keyword.value, known) if keyword.arg == "p" else None
        if value is not None and (value.numbers or 0) >= _LONG_TO_DRAW:
            return f"{ast.unparse(keyword.value)}: {value.in_words()}"
    return ""


def _made_to_draw_from(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> str:
    """The array in words, where all that the statement does is to make of it the odds of a draw in the same function: what a sum tree has
    no need of.
    """
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=made):
            pass
        case _:
            return ""
    if not all(isinstance(it, _OF_ODDS) for it in ast.walk(made)):
        return ""
    own = [it for it in module.statements if it.function is statement.function]
    odds = {
        it.value.id
        for other in own
        for call in other.walk()
        if isinstance(call, ast.Call) and called_name(call) == "choice"
        for it in call.keywords
        if it.arg == "p" and isinstance(it.value, ast.Name)
    }
    for _ in range(_MOST_STEPS_TO_ODDS):
        for other in own:
            match other.node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target in odds:
                    odds |= {it.id for it in ast.walk(value) if isinstance(it, ast.Name)}
    if name not in odds:
        return ""
    operands = (it for it in ast.walk(made) if isinstance(it, ast.Name | ast.Attribute))
    for operand in operands:
        seen = value_of(operand, known)
        if seen is not None and (seen.numbers or 0) >= _LONG_TO_DRAW:
            return f"{ast.unparse(operand)}: {seen.in_words()}"
    return ""


def _searched(container: ast.expr, known: Mapping[str, Value]) -> str:
    return _long(container, known, ("list", "collections.deque"), _LONG_TO_SEARCH)


def _moved(container: ast.expr, known: Mapping[str, Value]) -> str:
    return _long(container, known, ("list",), _LONG_TO_MOVE)


def _long(
    container: ast.expr, known: Mapping[str, Value], types: Collection[str], shortest: int
) -> str:
    """The container in words, where it was seen to have as many elements as ``shortest``; else nothing."""
    value = value_of(container, known)
    if value is None or value.type not in types or (value.length or 0) < shortest:
        return ""
    return f"{ast.unparse(container)}: {value.in_words()}"
