"""Places in a source file where Python containers become arrays, or are searched by hand.

Types are guessed from the file alone, and a guess has to be sure: ``np.asarray(x)`` of an ``x``
that may be an array already costs nothing and is not one of these places.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from rlprof.detectors.recognisers.arrays.gathered import (
    FEW,
    filled_anew,
    is_part_of_lists,
    is_window,
)
from rlprof.source.container_types import (
    PLAIN_CALLS,
    VIEWS,
    Types,
    is_array,
    is_container,
    mentions_array,
    taken_out,
    types_of,
)
from rlprof.source.value import Value
from rlprof.source.values import callee, value_of
from rlprof.syntax.imports import ARRAY_MODULES, name_key, root_name
from rlprof.syntax.module import (
    Comprehension,
    Function,
    SourceModule,
    Statement,
    assigned_variable,
    called_name,
    variables_assigned,
)
from rlprof.syntax.nodes import calls_in, given_by_name, lines_of

JOINERS: Final = frozenset({"stack", "vstack", "hstack", "column_stack"})
MAKERS: Final = JOINERS | frozenset(
    {"array", "asarray", "asanyarray", "ascontiguousarray", "fromiter", "ravel", "tensor"}
    | {"as_tensor", "FloatTensor", "LongTensor", "Tensor"}
)
_JOINS_ROWS: Final = JOINERS | {"concatenate"}
REDUCERS: Final = frozenset(
    {"argmax", "argmin", "argsort", "max", "min", "amax", "amin", "mean", "sum", "std", "var"}
    | {"median", "cumsum", "exp", "dot", "flatnonzero"}
)
"""numpy functions that turn a list into an array first, without saying so."""

_NO_COPIES: Final = frozenset({"asarray", "asanyarray", "ascontiguousarray"})
"""Makers that give back an array as it is."""
_ARRAY_LIBRARIES: Final = ("numpy.", "torch.", "jax.numpy.", "cupy.")

TAKE_APART: Final = frozenset({"list", "dict", "tuple", "enumerate", "map"})
_REBUILD: Final = frozenset({"list", "dict", "sorted"})

_ORDER: Final = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)


def _nothing(_: Statement) -> Mapping[str, Value]:
    return {}


class ConversionKind(Enum):
    TO_ARRAY = "a container is turned into an array"
    FROM_ARRAY = "an array is turned into a container"
    SEARCH = "a home-made search for the best of a container"
    WINDOW = "a window of arrays is joined anew each time"
    PARTS = "lists are turned into arrays one by one"
    HANDLING = "containers are rebuilt"
    """Too common to count by itself: evidence only beside one of the others."""


@dataclass(frozen=True, slots=True)
class Conversion:
    kind: ConversionKind
    function: Function | None
    lines: frozenset[int]
    calls: frozenset[str]
    """Last names of all calls on the lines."""
    other_calls: frozenset[str]
    """Last names of calls on the lines whose time is not the conversion's."""
    beside: frozenset[str] = frozenset()
    """Those of other statements on its lines, which may take the time of the line as well."""


def find_conversions(
    module: SourceModule, seen: Callable[[Statement], Mapping[str, Value]] = _nothing
) -> tuple[Conversion, ...]:
    """All conversions of ``module``; ``seen`` tells what is known of a statement's operands.

    Those of kind ``HANDLING`` only beside another one of their function, or where the statement
    calls a function that has another one: ``argmax(dict(enumerate(means)))``.
    """
    attributes = types_of([statement.node for statement in module.statements], attributes=True)
    found = [
        conversion
        for own in module.by_function()
        for conversion in _in_function(own, attributes, module, seen)
    ]
    converting = {
        conversion.function
        for conversion in found
        if conversion.kind is not ConversionKind.HANDLING
    }
    names = {function.node.name for function in converting if function is not None}
    return tuple(
        replace(
            conversion, other_calls=conversion.other_calls | beside, beside=beside - PLAIN_CALLS
        )
        for conversion in found
        for beside in (_calls_beside(conversion, module),)
        if conversion.kind is not ConversionKind.HANDLING
        or conversion.function in converting
        or conversion.calls & names
    )


def statements_of(conversion: Conversion, module: SourceModule) -> Iterator[Statement]:
    """Yield the statements on its lines; one over several of them as often."""
    for line in conversion.lines:
        yield from module.statements_at(line)


def _calls_beside(conversion: Conversion, module: SourceModule) -> frozenset[str]:
    """Last names of calls in other statements on its lines: ``a = np.array(b); loss.backward()``."""
    return frozenset(
        called_name(node)
        for statement in statements_of(conversion, module)
        for node in statement.calls()
    ).difference(conversion.calls)


def _in_function(
    statements: list[Statement],
    attributes: Types,
    module: SourceModule,
    seen: Callable[[Statement], Mapping[str, Value]],
) -> Iterator[Conversion]:
    function = statements[0].function
    local = types_of(
        [own_statement.node for own_statement in statements], attributes=False, function=function
    )
    types = Types(
        local.containers | attributes.containers | taken_out(statements, attributes),
        local.nested | attributes.nested,
        local.arrays | attributes.arrays,
    )
    picked = _names_picked_from(statements)
    extremes = _extremes(statements)
    for statement in statements:
        filled = filled_anew(statement, module, seen)
        at_hand = replace(types, containers=types.containers - filled) if filled else types
        kind = _kind(statement, at_hand, picked, extremes) or _seen_kind(
            statement, module, seen, filled
        )
        if kind is not None:
            yield _conversion(kind, statement)
        elif isinstance(statement.node, ast.For) and _is_search_loop(statement.node):
            node = statement.node
            lines = frozenset(lines_of(node))
            yield Conversion(ConversionKind.SEARCH, function, lines, frozenset(), frozenset())


def _kind(
    statement: Statement, types: Types, picked: frozenset[str], extremes: frozenset[str]
) -> ConversionKind | None:
    found: set[ConversionKind] = set()
    for node in statement.walk():
        if isinstance(node, ast.Call):
            found.update(_kinds_of_call(node, types))
        elif isinstance(node, ast.Subscript):
            found.update(_kinds_of_subscript(node))
        elif isinstance(node, Comprehension):
            found.update(_kinds_of_comprehension(node, types))
            if _keeps_the_best(node, extremes):
                found.add(ConversionKind.SEARCH)
    assigned, value = assigned_variable(statement.node)
    if assigned in picked and value is not None and _is_keyed_sort(value):
        found.add(ConversionKind.SEARCH)
    return next((kind for kind in ConversionKind if kind in found), None)


def _seen_kind(
    statement: Statement,
    module: SourceModule,
    seen: Callable[[Statement], Mapping[str, Value]],
    filled: frozenset[str],
) -> ConversionKind | None:
    """The same by the values that were seen there, whatever the names."""
    calls = [node for node in statement.calls() if node.args]
    known = seen(statement) if calls else {}
    for call in calls if known else ():
        called = callee(call, known, module)
        last = called.name.rpartition(".")[2]
        joins_alone = called.name == f"numpy.{last}" and last in _JOINS_ROWS and len(calls) == 1
        if joins_alone and is_window(value_of(call.args[0], known)):
            return ConversionKind.WINDOW
        if not called.name.startswith(_ARRAY_LIBRARIES) or last not in MAKERS | REDUCERS:
            continue
        given = value_of(call.args[0], known)
        is_long = given is not None and given.is_container and (given.length or 0) > FEW
        if is_long and ast.unparse(call.args[0]) not in filled:
            return ConversionKind.TO_ARRAY
        if is_part_of_lists(call.args[0], statement, module, known):
            return ConversionKind.PARTS
        is_result = isinstance(call.args[0], ast.Call) and not call.args[1:] and not call.keywords
        # Of an array it takes no time, so that a hot line is not given one.
        if given is None and called.is_seen and is_result and last in _NO_COPIES:
            return ConversionKind.TO_ARRAY
    return None


def _kinds_of_call(call: ast.Call, types: Types) -> Iterator[ConversionKind]:
    name = called_name(call)
    first = call.args[0] if call.args else None
    if root_name(call.func) in ARRAY_MODULES:
        if first is not None and name in MAKERS | REDUCERS and is_container(first, types):
            yield ConversionKind.TO_ARRAY
        return
    if name in TAKE_APART | _REBUILD and first is not None and _is_worked_out(first):
        return
    if name == "tolist" or (name in TAKE_APART and mentions_array(call, types)):
        yield ConversionKind.FROM_ARRAY
    elif isinstance(call.func, ast.Name) and name in ("max", "min") and first is not None:
        yield from _kinds_of_max(call, first, types)
    elif name == "index" and isinstance(call.func, ast.Attribute) and isinstance(first, ast.Call):
        if called_name(first) in ("max", "min"):
            yield ConversionKind.SEARCH
    elif first is not None and (
        name in _REBUILD or (name in ("choice", "sum") and is_container(first, types))
    ):
        yield ConversionKind.HANDLING


def _is_worked_out(given: ast.expr) -> bool:
    """Tell whether a method or a function of the program's makes it: ``list(pool.map(play, seeds))`` waits for what plays."""
    if not isinstance(given, ast.Call) or root_name(given.func) in ARRAY_MODULES:
        return False
    name = called_name(given)
    if isinstance(given.func, ast.Attribute):
        return name not in VIEWS | {"copy", "get", "tolist"}
    return name not in TAKE_APART | _REBUILD | {"zip", "range", "reversed", "set", "filter"}


def _kinds_of_max(call: ast.Call, first: ast.expr, types: Types) -> Iterator[ConversionKind]:
    if keys := given_by_name(call, "key"):
        if any(map(_is_lookup, keys)):
            yield ConversionKind.SEARCH
    elif isinstance(first, ast.Call) and called_name(first) in VIEWS:
        yield ConversionKind.SEARCH
    elif is_container(first, types):
        yield ConversionKind.HANDLING


def _kinds_of_subscript(node: ast.Subscript) -> Iterator[ConversionKind]:
    if _is_end(node.slice) and _is_keyed_sort(node.value):
        yield ConversionKind.SEARCH


def _kinds_of_comprehension(node: Comprehension, types: Types) -> Iterator[ConversionKind]:
    source = node.generators[0].iter
    if is_array(source, types) or mentions_array(source, types):
        yield ConversionKind.FROM_ARRAY
    elif not any(called_name(call) not in PLAIN_CALLS for call in calls_in(node)):
        yield ConversionKind.HANDLING


def _is_lookup(key: ast.expr) -> bool:
    """Tell whether a ``key=`` only looks values up: ``q.get``, ``lambda a: q[a]``, ``itemgetter(1)``."""
    if isinstance(key, ast.Attribute):
        return key.attr in ("get", "__getitem__")
    if isinstance(key, ast.Call):
        return called_name(key) in ("itemgetter", "attrgetter")
    if not isinstance(key, ast.Lambda):
        return False
    calls = list(calls_in(key.body))
    return all(called_name(call) in PLAIN_CALLS for call in calls) and any(
        isinstance(node, ast.Subscript | ast.Call) for node in ast.walk(key.body)
    )


def _is_keyed_sort(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and called_name(value) == "sorted"
        and any(map(_is_lookup, given_by_name(value, "key")))
    )


def _is_end(index: ast.expr) -> bool:
    return ast.unparse(index) in ("0", "-1")


def _keeps_the_best(node: Comprehension, extremes: frozenset[str]) -> bool:
    """Tell whether a comprehension gathers the ties: ``[a for a, v in enumerate(q) if v == best]``."""
    return any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq)
        and any(
            name_key(side) in extremes or _is_extreme(side)
            for side in (test.left, *test.comparators)
        )
        for generator in node.generators
        for test in generator.ifs
    )


def _is_extreme(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and called_name(value) in ("max", "min")


def _extremes(statements: list[Statement]) -> frozenset[str]:
    """Variables that hold the best value of something."""
    assigned = [assigned_variable(statement.node) for statement in statements]
    return frozenset(name for name, value in assigned if name and _is_extreme(value))


def _names_picked_from(statements: list[Statement]) -> frozenset[str]:
    """Names of which only an end is taken somewhere: ``ranking[0]``."""
    return frozenset(
        node.value.id
        for statement in statements
        for node in statement.walk()
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and _is_end(node.slice)
    )


def _is_search_loop(loop: ast.For) -> bool:
    """Tell whether a loop keeps the best seen so far: ``if v > best: best, best_i = v, i``."""
    if any(called_name(call) not in PLAIN_CALLS for call in calls_in(loop)):
        return False
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
            if not isinstance(node.test.ops[0], _ORDER):
                continue
            sides = (node.test.left, *node.test.comparators)
            compared = {side.id for side in sides if isinstance(side, ast.Name)}
            if compared & variables_assigned(*node.body):
                return True
    return False


def _conversion(kind: ConversionKind, statement: Statement) -> Conversion:
    calls = {called_name(node) for node in statement.calls()}
    return Conversion(
        kind,
        statement.function,
        frozenset(statement.lines),
        frozenset(calls),
        frozenset(
            calls - PLAIN_CALLS - MAKERS - REDUCERS - _JOINS_ROWS - {"index", "choice", "tolist"}
        ),
    )
