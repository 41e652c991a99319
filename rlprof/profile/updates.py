"""Calls that are part of an update of the networks: what is computed around the gradients, known by the call for them.

A network that is asked within an update is learning, whatever the functions around are called. The update reaches up from
the call for gradients to the first function that also steps environments or exchanges messages; of that one, it is
the block around the call which does neither.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from rlprof.libraries.base import Duty
from rlprof.libraries.known import functions_of, packages_of
from rlprof.model.recording import NO_PARENT, Node
from rlprof.syntax.module import parse
from rlprof.syntax.origin import Origin, installed_package, origin

Leading = Mapping[tuple[str, str], Collection[int]]
"""Lines of functions, by file and function, that lead to something."""

_Context = tuple[int, str, str]
"""A function as called from one node: the node, file and function."""

_duty: Final = functions_of(lambda library: library.duties)
_is_framework: Final = packages_of(lambda library: library.is_framework)
_BLOCKS: Final = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try)


def lines_that_lead_to(
    nodes: Sequence[Node], goals: Collection[int]
) -> dict[tuple[str, str], set[int]]:
    """The lines below which any of the nodes ``goals`` is, by the file and the function that they are in."""
    leading: dict[tuple[str, str], set[int]] = {}
    seen = set(goals)
    for goal in goals:
        current = nodes[goal].parent
        while current != NO_PARENT and current not in seen:
            seen.add(current)
            frame = nodes[current].frame
            leading.setdefault((frame.file, frame.function), set()).add(frame.line)
            current = nodes[current].parent
    return leading


def find_updates(
    nodes: Sequence[Node],
    sources: Mapping[str, str],
    to_environments: Leading,
    to_processes: Leading,
) -> bytearray:
    """1 for each node that is part of an update."""
    whole: set[_Context] = set()
    blocks: dict[_Context, range] = {}
    for _, parent, frame in nodes:
        if _duty(frame) is Duty.COMPUTES_GRADIENTS:
            _follow(nodes, parent, sources, (to_environments, to_processes), whole, blocks)
    found = bytearray(len(nodes))
    for number, parent, frame in nodes:
        context = (parent, frame.file, frame.function)
        is_inside = context in whole or frame.line in blocks.get(context, ())
        found[number] = is_inside or (parent != NO_PARENT and found[parent])
    return found


def _follow(
    nodes: Sequence[Node],
    caller: int,
    sources: Mapping[str, str],
    leading: tuple[Leading, Leading],
    whole: set[_Context],
    blocks: dict[_Context, range],
) -> None:
    """Add what the update is of which a call for gradients, by node ``caller``, is part."""
    to_environments, to_processes = leading
    is_direct = True
    while caller != NO_PARENT:
        _, parent, frame = nodes[caller]
        if origin(frame) not in (Origin.YOURS, Origin.LIBRARY):
            return  # Threads and processes start there, whatever they do.
        context = (parent, frame.file, frame.function)
        function = (frame.file, frame.function)
        others = {*to_environments.get(function, ()), *to_processes.get(function, ())}
        if _is_framework(installed_package(frame.file)):
            pass  # Its wrappers run other calls as well.
        elif not others:
            whole.add(context)
            is_direct = False
        else:
            block = _block(sources.get(frame.file, ""), frame.line, others)
            if block:
                blocks[context] = block
            elif is_direct and function not in to_environments:
                whole.add(context)
            return
        caller = parent


def _block(text: str, line: int, without: Collection[int]) -> range:
    """The lines of the largest block around ``line`` that has none of the lines ``without``; none where there is no such block."""
    module = parse(text) if text else None
    if module is None:
        return range(0)
    around = (
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(module.tree)
        if isinstance(node, _BLOCKS)
    )
    free = [lines for lines in around if line in lines and not any(it in lines for it in without)]
    return max(free, key=len, default=range(0))
