"""Loops that give numpy one small array at a time: what a call costs is paid for each item."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.small_arrays import SCALAR_CALLS
from rlprof.model.calibration import calibrated
from rlprof.source.callees import callee
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
    variables_assigned,
    variables_read,
)

FEWEST_ITEMS: Final = calibrated(
    32,
    unit="items",
    source="benchmarks/replacements.py, numpy 2.4: distances to 32 arrays of 10 take a sixth of the time at once, the array made anew",
    date="2026-11-25",
)
"""Items from which on one call for all of them is clearly quicker."""

MOST_NUMBERS: Final = calibrated(
    256,
    unit="numbers",
    source="benchmarks/replacements.py, numpy 2.4: 200 distances of 256 numbers take 1.1 times those of 10",
    date="2026-11-25",
)
"""Numbers of an item up to which most of the time of a call is not spent on them."""

_WALKED: Final = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "sorted"})
"""Functions that go through what they are given."""
_VIEWS: Final = frozenset({"values", "items", "keys"})
_OF_ARRAYS: Final = frozenset(
    {"sum", "mean", "max", "min", "dot", "any", "all", "std", "var", "prod", "argmax", "argmin"}
    | {"item", "copy", "clip", "astype", "ravel", "flatten"}
)
"""Methods of arrays."""
_KEPT: Final = frozenset({"append", "add"})
"""Methods by which a turn keeps what it has computed."""


class ItemLoop(NamedTuple):
    """A loop whose turns each give numpy an item, and need nothing of each other."""

    items: int
    container: str
    """What it goes through, as written."""
    array: str
    """An array that a turn works on, in words."""


def item_loops(module: SourceModule, values: Values, file: str) -> dict[int, ItemLoop]:
    """Return the loops of a file by the lines on which their turns work, as values show them."""
    found: dict[int, ItemLoop] = {}
    for statement in module.statements:
        known = values.of(file, statement)
        for loop in _comprehensions(statement, known, module):
            found |= dict.fromkeys(statement.lines, loop)
        node = statement.node
        if isinstance(node, ast.For):
            lines = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            told = _of_for(node, known, values.between(file, lines), module)
            if told is not None:
                found |= dict.fromkeys(lines, told)
    return found


def _comprehensions(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> Iterator[ItemLoop]:
    for node in statement.walk():
        if not isinstance(node, ast.ListComp | ast.GeneratorExp):
            continue
        if any(each.ifs for each in node.generators):
            continue
        items = _items([each.iter for each in node.generators], known)
        targets = variables_assigned(*(each.target for each in node.generators))
        array = _array_given(node.elt, targets, known, module)
        if items >= FEWEST_ITEMS and array and _calls_numpy_alone(statement, node, known, module):
            yield ItemLoop(items, ast.unparse(node.generators[-1].iter), array)


def _calls_numpy_alone(
    statement: Statement,
    loop: ast.ListComp | ast.GeneratorExp,
    known: Mapping[str, Value],
    module: SourceModule,
) -> bool:
    """Tell whether nothing else on the lines of a comprehension takes time that would be taken for its own."""
    within = {id(it) for it in ast.walk(loop)}
    beside = (it for it in statement.walk() if isinstance(it, ast.Call) and id(it) not in within)
    return all(_is_cheap(it, known, module) for it in beside)


def _of_for(
    node: ast.For, header: Mapping[str, Value], known: Mapping[str, Value], module: SourceModule
) -> ItemLoop | None:
    items = _items([node.iter], {**known, **header})
    if items < FEWEST_ITEMS:
        return None
    kept: set[str] = set()
    own = variables_assigned(node.target)
    worked: list[ast.expr] = []
    for each in node.body:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                own.add(name)
                worked.append(value)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                kept.add(name)
                worked.append(value)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(ast.Name(id=name), add), args=[value])
            ) if add in _KEPT:
                kept.add(name)
                worked.append(value)
            case ast.If(test=ast.Compare() as test, body=body, orelse=[]) if not any(
                isinstance(it, ast.Call) for it in ast.walk(each)
            ) and all(isinstance(it, ast.Assign) for it in body):
                # The best so far: found by argmin or argmax once all are known.
                kept |= variables_assigned(*body)
                worked.append(test.left)
            case _:
                return None
    read = variables_read(*worked)
    if read & (kept - own) or not kept or _reads_before_it_assigns(node):
        return None
    arrays = [_array_given(it, own, known, module) for it in worked]
    found = next(filter(None, arrays), "")
    if not found or not all(
        _is_cheap(it, known, module) or _is_numpy(it, known, module)
        for value in worked
        for it in ast.walk(value)
        if isinstance(it, ast.Call)
    ):
        return None
    return ItemLoop(items, ast.unparse(node.iter), found)


def _reads_before_it_assigns(loop: ast.For) -> bool:
    """Tell whether a turn uses what the turn before has left in a variable."""
    assigned = {it.id for it in ast.walk(loop.target) if isinstance(it, ast.Name)}
    later = {
        target.id
        for each in loop.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    for each in loop.body:
        if isinstance(each, ast.Assign):
            if variables_read(each.value) & (later - assigned):
                return True
            assigned |= variables_assigned(*each.targets)
    return False


def _items(sources: list[ast.expr], known: Mapping[str, Value]) -> int:
    """How many turns there are, at least; 0 where nobody has seen that."""
    turns = 1
    for source in sources:
        turns *= _length(source, known)
    return turns


def _length(source: ast.expr, known: Mapping[str, Value]) -> int:
    value = value_of(source, known)
    if value is not None:
        return value.shape[0] if value.shape else value.length or 0
    match source:
        case ast.Call(
            func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[of])]
        ):
            return _length(of, known)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
            return number
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _WALKED:
            return _length(first, known)
        case ast.Call(func=ast.Attribute(value=owner, attr=view), args=[]) if view in _VIEWS:
            return _length(owner, known)
    return 0


def _array_given(
    worked: ast.expr, own: set[str], known: Mapping[str, Value], module: SourceModule
) -> str:
    """The small array of the item's that numpy is given, in words; empty where there is none, or a large one, too."""
    if not any(_is_numpy(it, known, module) for it in ast.walk(worked)):
        return ""
    arrays = {
        ast.unparse(it): value
        for it in ast.walk(worked)
        if isinstance(it, ast.Name | ast.Attribute | ast.Subscript)
        if (value := value_of(it, known)) is not None and value.is_array
    }
    if any((value.numbers or 0) > MOST_NUMBERS for value in arrays.values()):
        return ""
    items = [
        (text, value)
        for text, value in arrays.items()
        if variables_read(ast.parse(text, mode="eval").body) & own and value.type == "numpy.ndarray"
    ]
    return f"{items[0][0]}: {items[0][1].in_words()}" if items else ""


def _is_numpy(node: ast.AST, known: Mapping[str, Value], module: SourceModule) -> bool:
    """Tell whether it is a call of numpy, or of a method of an array's."""
    if not isinstance(node, ast.Call):
        return False
    if callee(node, known, module).name.startswith("numpy."):
        return True
    return isinstance(node.func, ast.Attribute) and node.func.attr in _OF_ARRAYS


def _is_cheap(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> bool:
    name = called_name(call)
    return name in SCALAR_CALLS | _WALKED | _VIEWS | {"min", "max", "sum", "range"} or _is_numpy(
        call, known, module
    )
