"""Arrays of a class that hold one sequence a row, each written step by step, up to where it ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.ancestors import parents
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned, nodes_in

MAKES: Final = frozenset({"zeros", "ones", "full", "empty", "new_zeros", "new_full", "new_empty", "new_ones"})  # fmt: skip
"""Functions that make an array of a shape."""


class WrittenRows(NamedTuple):
    """A statement that takes whole rows of such an array."""

    taking: Statement
    array: str
    """As written: ``self.obs``."""
    width: ast.expr
    """Steps that a row has room for."""
    made_in: Function | None
    """The function that makes the array."""
    step: ast.expr
    """The place that is counted up: ``self.t``."""


def sizes_made(made: ast.expr | None) -> Sequence[ast.expr]:
    """The sizes of an array that is made of one number."""
    match made:
        case ast.Call(args=[ast.Tuple(elts=sizes) | ast.List(elts=sizes), *_]):
            pass
        case ast.Call(args=sizes):
            pass
        case _:
            return ()
    return sizes if called_name(made) in MAKES else ()


def written_rows(module: SourceModule) -> Iterator[WrittenRows]:
    """Yield who takes rows that are written at ``self.obs[self.episode, self.t]``, where an episode that ends begins the next row.

    None of them where something is cut off at a length that is computed: rows may be taken up to the longest.
    """
    if any(map(_cuts, ast.walk(module.tree))):
        return
    for statement in module.statements:
        function = statement.function
        for each in assigned(statement.node):
            match each.target:
                case ast.Subscript(
                    value=ast.Attribute() as array,
                    slice=ast.Tuple(elts=[ast.Attribute() as row, ast.Attribute() as step]),
                ) if function is not None and function.class_name:
                    if _begins_anew(module, function, row, step):
                        yield from _taken(module, function, array, step)


def _cuts(node: ast.AST) -> bool:
    """Tell ``rows[:, :longest]`` from ``rows[:, :-1]``."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[_, *axes])):
            uppers = [axis.upper for axis in axes if isinstance(axis, ast.Slice)]
            return any(
                isinstance(part, ast.Name | ast.Attribute)
                for part in nodes_in(*filter(None, uppers))
            )
    return False


def _begins_anew(module: SourceModule, function: Function, row: ast.expr, step: ast.expr) -> bool:
    """Tell whether a function counts the step up, and sets it to nothing as it goes on to the next row; not by a full one."""
    above = parents(module)
    is_counted = False
    begun: list[ast.stmt] = []
    moved: list[ast.stmt] = []
    for node in ast.walk(function.node):
        match node:
            case ast.AugAssign(target=counted, op=ast.Add(), value=ast.Constant(1)):
                is_counted |= ast.unparse(counted) == ast.unparse(step)
                moved += [node] if ast.unparse(counted) == ast.unparse(row) else []
        for each in assigned(node):
            target = ast.unparse(each.target)
            is_nothing = isinstance(each.value, ast.Constant) and each.value.value == 0
            if isinstance(node, ast.stmt):
                begun += [node] if target == ast.unparse(step) and is_nothing else []
                moved += [node] if target == ast.unparse(row) else []
    together = [
        condition
        for start in begun
        if isinstance(condition := above.get(start), ast.If)
        and any(above.get(other) is condition for other in moved)
    ]
    compares = (ast.unparse(step) in ast.unparse(condition.test) for condition in together)
    return is_counted and bool(together) and not any(compares)


def _taken(
    module: SourceModule, writes: Function, array: ast.Attribute, step: ast.expr
) -> Iterator[WrittenRows]:
    """Yield the statements of the class's other methods that read the array and return what they take."""
    text = ast.unparse(array)
    own = module.of_class(writes.class_name)
    made = [
        (each.value, statement.function)
        for statement in own
        for each in assigned(statement.node)
        if ast.unparse(each.target) == text
    ]
    sizes = sizes_made(made[0][0]) if len(made) == 1 else ()
    if len(sizes) > 1:
        for statement in own:
            reads = any(
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and ast.unparse(node) == text
                for node in statement.walk()
            )
            writes_it = any(text in ast.unparse(each.target) for each in assigned(statement.node))
            if reads and not writes_it and statement.function is not writes:
                yield WrittenRows(statement, text, sizes[1], made[0][1], step)
