"""Texts that are made of numbers only to look something up by them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.calls.long_lists import CONTAINERS, OnList, long_container
from rlprof.libraries.base import SlowCall
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import operands_of, reads_of

_TAKES_KEYS: Final = frozenset({"get", "setdefault", "pop", "add", "discard"})
"""Methods of dictionaries and sets that look up what they are given first."""

TEXT: Final = SlowCall(
    "a list of numbers is made into text",
    "As a key of a dictionary take tuple(numbers), or array.tobytes() of an array; a table that is saved as JSON needs text for its keys then, when it "
    "is saved. For output make the text only of what is shown.",
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

_FEWEST_IN_TURN: Final = 3
"""Numbers that a comprehension makes into text one by one, each of which takes 0.5 to 3 µs."""
_FLATTEN: Final = frozenset({"flatten", "ravel", "tolist"})
_LONG_FOR_TEXT: Final = 8
"""Numbers, each of which takes some 60 ns to write."""
_WRITES: Final = frozenset({"str", "repr"})


def text_for_a_key(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return the text that ``statement`` makes of numbers, where it serves as a key and for nothing else."""
    for written, calls in _texts_for_keys(statement, known, module):
        if isinstance(written, ast.comprehension):
            if seen := _numbers_in_turn(written, known):
                return OnList(TEXT, seen, calls, OF_NUMBERS_IN_TURN)
        elif seen := _many_numbers(written, known):
            return OnList(TEXT, seen, calls)
    return None


def _texts_for_keys(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> Iterator[tuple[ast.expr | ast.comprehension, int]]:
    """Yield what is made into text only to look something up by it, with the calls that belong to that."""
    texts: list[tuple[ast.expr | None, int]] = []
    match statement.node:
        case ast.Assign(value=value) | ast.Return(value=value) if _is_made_for_keys(
            module, statement
        ):
            texts.append((value, 1))
    for node in statement.walk():
        for key, owner in _keys_in(node):
            seen = value_of(owner, known) if owner is not None else None
            if owner is None or (seen is not None and seen.type in CONTAINERS):
                texts.append((key, 1 + (owner is not None)))
    given = [(text, calls) for text, calls in texts if text is not None]
    parts = [(part, calls) for text, calls in given for part in operands_of(text, ast.Add)]
    for text, calls in parts:
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


def _numbers_in_turn(turns: ast.comprehension, known: Mapping[str, Value]) -> str:
    """The row of numbers in words that a comprehension goes through; nothing where it was not seen to be one."""
    row, is_flat = turns.iter, False
    match row:
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=[]) if name in _FLATTEN:
            row, is_flat = of, name != "tolist"
        case ast.Attribute(value=of, attr="flat"):
            row, is_flat = of, True
    value = value_of(row, known)
    if value is None or (value.numbers or value.length or 0) < _FEWEST_IN_TURN:
        return ""
    is_row = value.is_array and (is_flat or len(value.shape or ()) == 1)
    holds = value.type in ("list", "tuple") and value.items in ("int", "float")
    return f"{ast.unparse(row)}: {value.in_words()}" if is_row or holds else ""


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
    return long_container(written, known, ("list", "tuple"), _LONG_FOR_TEXT)


class _KeyUse(NamedTuple):
    """An expression that something is looked up by."""

    key: ast.expr
    owner: ast.expr | None
    """Object whose method looks it up, which may be anything; None for ``table[key]`` and ``key in table``."""


def _keys_in(node: ast.AST) -> Iterator[_KeyUse]:
    """Yield the keys of ``table[key]``, ``key in table`` and ``table.get(key)`` that are right at ``node``."""
    match node:
        case ast.Subscript(slice=key) | ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
            yield _KeyUse(key, None)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[key, *_]):
            if name in _TAKES_KEYS:
                yield _KeyUse(key, owner)


def _is_made_for_keys(module: SourceModule, statement: Statement) -> bool:
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
    loads = reads_of(name, nodes)
    keys = {id(use.key) for node in nodes for use in _keys_in(node)}
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
    if any(use.key is call for node in statement.walk() for use in _keys_in(node)):
        return True
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
            return _is_key(module, name, statement.function)
    return False
