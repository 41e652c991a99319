"""Tell what goes through a whole list, moves, sorts or copies all of it, or makes text of it, at each call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.libraries.base import SlowCall
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import Function, SourceModule, Statement, called_name

_TAKES_KEYS: Final = frozenset({"get", "setdefault", "pop", "add", "discard"})
"""Methods of dictionaries and sets that look up what they are given first."""

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

RANKED: Final = SlowCall(
    "an array is ranked by a function of Python",
    "np.argsort(array) ranks all of its numbers in C, np.argpartition finds the k largest, np.argmax the largest.",
    # Of 256 to 6 000 numbers 0.07 to 0.12 is left, of the largest of them 0.004 to 0.06 (benchmarks/replaced_calls.py).
    Range(0.85, 0.99),
)

TEXT: Final = SlowCall(
    "a list of numbers is made into text",
    "As a key of a dictionary take tuple(numbers), or array.tobytes() of an array; for output make the text only of what is shown.",
    # Of 8 to 64 numbers 0.01 to 0.1 is left (benchmarks/replaced_calls.py).
    Range(0.8, 0.99),
)

OF_NUMBERS_IN_TURN: Final = calibrated(
    Range(0.5, 0.85),
    unit="part of the line's time",
    source="benchmarks/replacements.py, numpy 2.4: of 3 numbers 0.43 is left, of 6 0.27",
    date="2026-11-29",
)
"""Part that goes of a text that a comprehension puts together."""

_LONG_TO_RANK: Final = 256
"""Numbers, for each of which a function is called."""
_RANKS: Final = frozenset({"sorted", "min", "max"})
_OF_RANKS: Final = (ast.Name, ast.Attribute, ast.Subscript, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.Constant, ast.expr_context, ast.Call)  # fmt: skip
_FEWEST_IN_TURN: Final = 3
"""Numbers that a comprehension makes into text one by one, each of which takes 0.5 to 3 µs."""
_LONG_TO_COPY: Final = 200
"""Elements, each of which takes 5 to 10 ns to copy."""
_LONG_TO_SORT: Final = 1_000
"""Elements from which on heapq is the faster one."""
_FEW: Final = 0.03
"""Part of the elements up to which heapq is the faster one: of 1 000 it takes 0.5 of sorting for 1 %, 1.25 for 5 % and 3.9 for a
quarter, of 10 000 0.3, 0.8 and 2.5 (random numbers, CPython 3.11)."""
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
    calls: int | None
    """How many of the statement's calls do it, or use nothing else than what it gives; None where less of its time may go in any case."""
    removable: Range | None = None
    """Part that goes, where what was seen tells it more closely than the call."""


def done_to_a_long_list(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return what ``statement`` does to a list that was seen to be long."""
    for copied, calls in _copied(statement):
        if seen := _long(copied, known, _CONTAINERS, _LONG_TO_COPY):
            return OnList(COPIED, seen, calls)
    for of, calls, taken in _sorted_for_a_part(statement):
        seen = _long(of, known, _CONTAINERS, _LONG_TO_SORT)
        if seen and (slow := _slow_sort(statement, of, taken, known)):
            return OnList(slow, seen, calls)
    for written, calls in _texts_for_keys(statement, known, module):
        if isinstance(written, ast.comprehension):
            if seen := _numbers_in_turn(written, known):
                return OnList(TEXT, seen, calls, OF_NUMBERS_IN_TURN)
        elif seen := _many_numbers(written, known):
            return OnList(TEXT, seen, calls)
    for array, calls in _ranked(statement):
        if seen := _array(array, known, _LONG_TO_RANK):
            return OnList(RANKED, seen, calls)
    for node in statement.walk():
        if isinstance(node, ast.Compare):
            for operator, container in zip(node.ops, node.comparators, strict=True):
                is_search = isinstance(operator, ast.In | ast.NotIn)
                if is_search and (seen := _searched(container, known)):
                    return OnList(SEARCHED, seen, calls=0)
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
    """How many are picked from either end, as it is written; None for what picks others."""
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


def _texts_for_keys(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> Iterator[tuple[ast.expr | ast.comprehension, int]]:
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
            case ast.Call(
                func=ast.Attribute(ast.Constant(), "join"),
                args=[ast.GeneratorExp() | ast.ListComp() as each],
            ) if len(each.generators) == 1 and not each.generators[0].ifs:
                yield (
                    each.generators[0],
                    calls + sum(isinstance(n, ast.Call) for n in ast.walk(each)),
                )


def _ranked(statement: Statement) -> Iterator[tuple[ast.expr, int]]:
    """Yield the arrays by whose items numbers from zero on are ranked, with the calls that belong to that: ``prio`` in
    ``sorted(range(n), key=lambda i: -prio[i])``.
    """
    for call in statement.calls():
        match call:
            case ast.Call(
                func=ast.Name(id=name),
                args=[ast.Call(func=ast.Name(id="range"))],
                keywords=[ast.keyword("key", ast.Lambda(ast.arguments(args=[turn]), body)), *_],
            ) if name in _RANKS and all(isinstance(part, _OF_RANKS) for part in ast.walk(body)):
                for part in ast.walk(body):
                    match part:
                        case ast.Subscript(array, ast.Name(id=index)) if index == turn.arg:
                            yield array, sum(isinstance(n, ast.Call) for n in ast.walk(call))


def _array(written: ast.expr, known: Mapping[str, Value], shortest: int) -> str:
    """The array in words, where it was seen to be a row of as many numbers as ``shortest``; else nothing."""
    value = value_of(written, known)
    if value is None or not value.is_array or len(value.shape or ()) != 1:
        return ""
    is_long = (value.numbers or 0) >= shortest
    return f"{ast.unparse(written)}: {value.in_words()}" if is_long else ""


def _numbers_in_turn(turns: ast.comprehension, known: Mapping[str, Value]) -> str:
    """The row of numbers in words that a comprehension goes through; nothing where it was not seen to be one."""
    value = value_of(turns.iter, known)
    if value is None or (value.numbers or value.length or 0) < _FEWEST_IN_TURN:
        return ""
    is_row = value.is_array and len(value.shape or ()) == 1
    holds = value.type in ("list", "tuple") and value.items in ("int", "float")
    return f"{ast.unparse(turns.iter)}: {value.in_words()}" if is_row or holds else ""


def _many_numbers(written: ast.expr, known: Mapping[str, Value]) -> str:
    """The array or list in words, where it was seen to have many numbers: ``array.tolist()`` has those of the array."""
    match written:
        case ast.Call(func=ast.Attribute(value=of, attr="tolist"), args=[]):
            value = value_of(of, known)
            is_many = value is not None and (value.numbers or 0) >= _LONG_FOR_TEXT
            return f"{ast.unparse(of)}: {value.in_words()}" if value is not None and is_many else ""
    value = value_of(written, known)
    if value is None or value.items not in ("int", "float"):
        return ""
    return _long(written, known, ("list", "tuple"), _LONG_FOR_TEXT)


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


class KeyUse(NamedTuple):
    """An expression that something is looked up by."""

    key: ast.expr
    owner: ast.expr | None
    """Object whose method looks it up, which may be anything; None for ``table[key]`` and ``key in table``."""


def keys_in(node: ast.AST) -> Iterator[KeyUse]:
    """Yield the keys of ``table[key]``, ``key in table`` and ``table.get(key)`` that are right at ``node``."""
    match node:
        case ast.Subscript(slice=key) | ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
            yield KeyUse(key, None)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[key, *_]):
            if name in _TAKES_KEYS:
                yield KeyUse(key, owner)


def is_made_for_keys(module: SourceModule, statement: Statement) -> bool:
    """Tell whether what ``statement`` assigns to a variable, or returns, is used for nothing else, and that somewhere."""
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return _is_key(module, name, statement.function)
        case ast.Return() if statement.function is not None:
            return _is_called_for_keys(module, statement.function)
    return False


def _is_key(module: SourceModule, name: str, function: Function | None) -> bool:
    own = module.of_function(function)
    nodes = [node for statement in own for node in statement.walk()]
    loads = [
        node
        for node in nodes
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    keys = {id(use.key) for node in nodes for use in keys_in(node)}
    return bool(loads) and all(id(load) in keys for load in loads)


def _is_called_for_keys(module: SourceModule, function: Function) -> bool:
    name = function.node.name
    if name.startswith("__"):
        return False
    calls = [
        (node, statement)
        for statement in module.statements
        for node in statement.calls()
        if called_name(node) == name
    ]
    return bool(calls) and all(_is_for_keys(module, call, statement) for call, statement in calls)


def _is_for_keys(module: SourceModule, call: ast.Call, statement: Statement) -> bool:
    if any(use.key is call for node in statement.walk() for use in keys_in(node)):
        return True
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            return _is_key(module, name, statement.function)
    return False
