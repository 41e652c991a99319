"""The operands of a statement: names, attributes and constant items that it uses, by which values can be looked up."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.module import PARSED_FILES, Function, SourceModule, Statement

MOST_OPERANDS: Final = 24
"""Most operands of one statement: further ones are in a literal that goes on for pages."""
_MOST_STEPS: Final = 6
_BUILT_IN: Final = frozenset((name,) for name in dir(builtins))
_MOST_TEXT: Final = 100
_MOST_KEY: Final = 40


class Operand(NamedTuple):
    text: str
    """As Python would write it: ``self.net.body``, ``batch['obs']``."""
    steps: tuple[str, ...]
    """The name; then ``.attribute``, ``i`` with an index, or ``s`` with a key."""

    @property
    def attributes(self) -> frozenset[str]:
        """The names of the attributes on the way to it."""
        return frozenset(step[1:] for step in self.steps[1:] if step.startswith("."))


@lru_cache(maxsize=4096)
def operands(module: SourceModule, line: int) -> tuple[Operand, ...]:
    """Those of the statements on ``line``, their targets included, and of what the loops around it go through.

    At the end of a loop's turn those of the whole turn, too: where nothing else is called that is written in
    Python, the interpreter looks for signals there alone, and all of the loop's time is seen at that line. For the same reason
    what the function searches with ``in`` is among those of all its lines.
    """
    statements = module.statements_at(line)
    found: dict[Operand, None] = {}
    for statement in statements:
        found |= dict.fromkeys(_chains(statement.walk()))
    for loop in module.loops_around(line) if statements else ():
        found |= dict.fromkeys(_chains(ast.walk(loop.iter)))
    for statement in module.turn_ending_at(line) if statements else ():
        found |= dict.fromkeys(_chains(statement.walk()))
    function = module.function_at(line) if statements else None
    if function is not None:
        found |= dict.fromkeys(_searched(module, function.first_line))
    # A signal that came in the statement before is heard where the next call is made.
    for statement in (*statements, *(_before(module, statements[0]) if statements else ())):
        found |= dict.fromkeys(_searched_by_methods(module, statement))
    return tuple(found)[:MOST_OPERANDS]


def _before(module: SourceModule, statement: Statement) -> Sequence[Statement]:
    """Return the statement before, in the same function."""
    earlier = [
        other
        for other in module.of_function(statement.function)
        if other.last_line < statement.first_line
    ]
    return earlier[-1:]


def _searched_by_methods(module: SourceModule, statement: Statement) -> Iterator[Operand]:
    """Yield what the methods of the file search that ``statement`` calls: a short one may have no line where Python looks for signals."""
    for call in statement.walk():
        if not isinstance(call, ast.Call):
            continue
        callees = [(call.func, "__call__")]
        if isinstance(call.func, ast.Attribute):
            callees.append((call.func.value, call.func.attr))
        for owner, name in callees:
            method, steps = _methods(module).get(name), steps_to(owner)
            for operand in _searched(module, method.first_line) if method and steps else ():
                if operand.steps[0] == "self" and len(steps) < _MOST_STEPS - 1:
                    text = f"{ast.unparse(owner)}{operand.text.removeprefix('self')}"
                    yield Operand(text, (*steps, *operand.steps[1:]))


@lru_cache(maxsize=PARSED_FILES)
def _methods(module: SourceModule) -> Mapping[str, Function | None]:
    """Return the methods of a file by their names; None for a name that several classes have."""
    found: dict[str, Function | None] = {}
    for function in module.functions:
        if function.class_name:
            name = function.node.name
            found[name] = None if name in found else function
    return found


@lru_cache(maxsize=1024)
def _searched(module: SourceModule, first_line: int) -> Sequence[Operand]:
    """Return what the function that begins there searches with ``in``."""
    function = module.function_at(first_line)
    return [
        operand
        for node in (ast.walk(function.node) if function else ())
        if isinstance(node, ast.Compare)
        for operator, container in zip(node.ops, node.comparators, strict=True)
        if isinstance(operator, ast.In | ast.NotIn)
        for operand in _operand(container)
    ]


def _chains(nodes: Iterator[ast.AST]) -> Iterator[Operand]:
    """Yield each chain as a whole, the owners of methods that are called, and what an item is taken out of for good; parents come before their
    children.
    """
    inside: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _operand(node.func.value)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Del):
            yield from _operand(node.value)
        if id(node) not in inside and steps_to(node):
            inside.update(map(id, ast.walk(node)))
            yield from _operand(node)


def _operand(node: ast.AST) -> Iterator[Operand]:
    found = operand_of(node)
    if found is not None and found.steps not in _BUILT_IN:
        yield found


def operand_of(node: ast.AST) -> Operand | None:
    """``node`` as an operand; None where the value depends on more than names, or the way to it is long."""
    steps = steps_to(node)
    if not 0 < len(steps) <= _MOST_STEPS:
        return None
    text = ast.unparse(node)
    return Operand(text, steps) if len(text) <= _MOST_TEXT else None


def steps_to(node: ast.AST) -> tuple[str, ...]:
    """The steps of an operand; empty where the value depends on more than names."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        owner, step = steps_to(node.value), f".{node.attr}"
    elif isinstance(node, ast.Subscript):
        owner, step = steps_to(node.value), _index(node.slice)
    else:
        return ()
    return (*owner, step) if owner and step else ()


def _index(node: ast.expr) -> str:
    match node:
        case ast.Constant(bool()):
            return ""
        case ast.Constant(int(index)):
            return f"i{index}"
        case ast.Constant(str(key)) if key.isprintable() and len(key) <= _MOST_KEY:
            return f"s{key}"
        case ast.UnaryOp(ast.USub(), ast.Constant(int(index))):
            return f"i{-index}"
    return ""
