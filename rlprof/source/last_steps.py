"""Tell whether of a network's answers for all steps of a sequence only that for the last one is used."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from rlprof.source.histories import Level
from rlprof.syntax.ancestors import parents
from rlprof.syntax.module import called_name
from rlprof.syntax.nodes import items_of
from rlprof.syntax.reached_reads import is_reached

_MIXES: Final = frozenset(
    {"mean", "sum", "max", "amax", "min", "amin", "std", "var", "logsumexp", "prod", "flatten", "flip", "sort"}
)  # fmt: skip
"""Functions that make something of several steps, or turn their order."""


def taken_last(
    levels: Sequence[Level], call: ast.Call, axis: int, *, is_recurrent: bool
) -> int | None:
    """Return the index in ``levels`` of the statement that takes only those of the last step of the network's outputs, or its last state alone:
    here, or where the function returns them; None where more is used. Steps are along ``axis``; what a recurrent
    network gives is a pair, its outputs and its state.
    """
    above = parents(levels[0].module)
    outer = above.get(call)
    if is_recurrent and (_is_index(outer, 1) or _is_last_of_first(outer, above)):
        return 0
    whole = above.get(outer) if outer is not None and _is_index(outer, 0) else outer
    if not is_recurrent and _is_last_along(whole, axis):
        return 0
    # ``out = net(x)[0]``
    answer = outer if isinstance(outer, ast.Subscript) and _is_index(outer, 0) else call
    assigning = above.get(answer)
    if not isinstance(assigning, ast.Assign):
        is_first = isinstance(answer, ast.Subscript) or not is_recurrent
        return 1 if is_first and _is_returned(levels, answer) else None
    targets = [
        target
        for target in (assigning.targets if answer is call else ())
        if isinstance(target, ast.Tuple) or not is_recurrent
    ]
    outputs = {ast.unparse(items_of(target)[0]) for target in targets}
    if answer is not call:
        outputs = {target.id for target in assigning.targets if isinstance(target, ast.Name)}
    others = [part for target in targets for part in items_of(target)[1:] if not is_recurrent]
    if len(outputs) != 1 or not all(name.isidentifier() for name in outputs):
        return None
    if others and any(_reads(levels[0], {ast.unparse(part) for part in others}, assigning)):
        return None  # Values of all steps, as of a critic beside.
    inside = {*ast.walk(call)}  # ``x = net(x)``
    reads = [
        read
        for read in _reads(levels[0], outputs, assigning)
        if read not in inside and not _is_last(above.get(read), axis, is_recurrent)
    ]
    if not reads:
        return 0
    return 1 if all(_is_returned(levels, read) for read in reads) else None


def _is_last_of_first(outer: ast.AST | None, above: Mapping[ast.AST, ast.AST]) -> bool:
    """Tell ``net(x)[0][:, -1]``."""
    return outer is not None and _is_index(outer, 0) and _is_index(above.get(outer), -1)


def _is_last(node: ast.AST | None, axis: int, is_recurrent: bool) -> bool:
    return _is_index(node, -1) if is_recurrent else _is_last_along(node, axis)


def _is_last_along(node: ast.AST | None, axis: int) -> bool:
    """Tell ``value[:, -1]`` and ``value[:, -1:]`` along the second axis, ``value[-1]`` along the first."""
    if not isinstance(node, ast.Subscript) or not _is_index(node, -1):
        return False
    part = next(iter(items_of(node.slice)[axis : axis + 1]), None)
    index = part.lower if isinstance(part, ast.Slice) else part
    return index is not None and ast.unparse(index) == "-1"


def _reads(level: Level, names: Collection[str], assigning: ast.Assign) -> list[ast.Name]:
    """Return the reads of variables in the function of a level that may have what they are assigned there."""
    function = level.statement.function
    reads: list[ast.Name] = []
    for node in ast.walk(function.node if function else level.module.tree):
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if isinstance(node, ast.Name) and is_read and node.id in names:
            reads.append(node)
    return [read for read in reads if is_reached(level.module, read, assigning)]


def _is_returned(levels: Sequence[Level], read: ast.expr) -> bool:
    """Tell whether what is read is returned, each step by itself, and the caller uses the last of it alone."""
    returned = [
        statement.node.value
        for statement in levels[0].module.statements_at(read.lineno)
        if isinstance(statement.node, ast.Return) and statement.node.value is not None
    ]
    assigning = levels[1].statement.node if len(levels) > 1 else None
    if not returned or not isinstance(assigning, ast.Assign):
        return False
    within = parents(levels[0].module)
    whole: ast.AST | None = read
    while whole is not None and not isinstance(whole, ast.Return):
        if isinstance(whole, ast.Call) and called_name(whole) in _MIXES:
            return False
        whole = within.get(whole)
    parts = items_of(returned[0])
    names = {
        name
        for target in assigning.targets
        for number, name in _names_of(target, len(parts))
        if any(part is read for part in ast.walk(parts[number]))
    }
    above = parents(levels[1].module)
    return bool(names) and all(
        _is_index(above.get(use), -1) for use in _reads(levels[1], names, assigning)
    )


def _names_of(target: ast.expr, parts: int) -> Iterator[tuple[int, str]]:
    """Yield the variables of a target by their position; of one that is no tuple the first."""
    targets = target.elts if isinstance(target, ast.Tuple) and parts > 1 else [target]
    for number, each in enumerate(targets[:parts]):
        if isinstance(each, ast.Name):
            yield number, each.id


def _is_index(node: ast.AST | None, number: int) -> bool:
    """Tell ``value[number]``, ``value[:, number]``, ``value[:, number:]`` and ``value[0, number]``."""
    if not isinstance(node, ast.Subscript):
        return False
    parts = items_of(node.slice)
    told = [
        part.lower if isinstance(part, ast.Slice) and part.upper is None else part
        for part in parts
        if not (isinstance(part, ast.Slice) and part.lower is None)
    ]
    texts = [ast.unparse(index) for index in told if index is not None]
    return str(number) in texts and set(texts) <= {str(number), "0"}
