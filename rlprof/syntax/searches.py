"""Tell functions that search a map or a graph place by place, from a list of the places that are still to be visited."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from rlprof.syntax.module import called_name, receiver
from rlprof.syntax.nodes import assigned, calls_in, names_in, nodes_in

_TAKES: Final = frozenset({"pop", "popleft", "heappop", "get"})
_PUTS: Final = frozenset({"append", "appendleft", "extend", "add", "heappush", "put"})


def search_begins_with(function: ast.FunctionDef) -> frozenset[str]:
    """Return the variables and attributes that tell where a search begins, and nothing else: one with a ``while`` loop that takes places
    from a list, a deque or a heap, puts further ones there, and asks which ones were met, for the way to one place. Nothing where there is none.
    """
    loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
    lists = {name for loop in loops if _marks(loop) for name in _taken(loop) & _put(loop)}
    inside = {id(node) for loop in loops for node in ast.walk(loop)}
    before = [node for node in ast.walk(function) if id(node) not in inside]
    begins: set[str] = set()
    wanted = lists
    while wanted:
        given = [value for node in before for value in _given(node, wanted)]
        told = {ast.unparse(part) for value in given for part in ast.walk(value) if _is_read(part)}
        wanted, begins = told - begins - lists, begins | told
    searching = [loop for loop in loops if _marks(loop)]
    if not any(map(_ends_at_a_goal, searching)) and not _returns_one(function):
        return frozenset()
    read = {ast.unparse(part) for part in nodes_in(*searching) if _is_read(part)}
    return frozenset(begins - read)


def _ends_at_a_goal(loop: ast.While) -> bool:
    """Tell whether it may end early: ``if place == goal: return``, or ``break``."""
    return any(
        isinstance(node, ast.If)
        and any(isinstance(part, ast.Compare) for part in ast.walk(node.test))
        and any(isinstance(statement, ast.Return | ast.Break) for statement in node.body)
        for node in ast.walk(loop)
    )


def _returns_one(function: ast.FunctionDef) -> bool:
    """Tell whether what was found of one place is returned: ``distances[goal]``."""
    return any(
        isinstance(node.value, ast.Subscript)
        or (isinstance(node.value, ast.Call) and called_name(node.value) == "get")
        for node in ast.walk(function)
        if isinstance(node, ast.Return)
    )


def _given(node: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    """Yield what is assigned to one of these variables, or put into it."""
    for each in assigned(node):
        if isinstance(each.target, ast.Name) and each.target.id in names:
            yield each.value
    if isinstance(node, ast.Call) and called_name(node) in _PUTS and _worked_on(node) & names:
        yield from node.args


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)


def _taken(loop: ast.While) -> set[str]:
    """Variables that places are taken from: ``queue.popleft()``, ``for place in front``, ``queue[i]`` while ``i < len(queue)``."""
    tested = names_in(loop.test)
    taken = set(_handed(loop, _TAKES))
    for node in ast.walk(loop):
        match node:
            case ast.For(iter=ast.Name(id=name)):
                taken.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()) if name in tested:
                taken.add(name)
    return taken


def _put(loop: ast.While) -> set[str]:
    """Variables that places are put in, or that a list of such is assigned to: ``front = following``."""
    put = set(_handed(loop, _PUTS))
    assignments = (each for node in ast.walk(loop) for each in assigned(node))
    renamed = {
        each.target.id
        for each in assignments
        if isinstance(each.target, ast.Name)
        and isinstance(each.value, ast.Name)
        and each.value.id in put
    }
    return put | renamed


def _handed(loop: ast.While, calls: frozenset[str]) -> Iterator[str]:
    """Yield the variables whose method of these is called, or that a function of ``heapq`` is given."""
    for node in calls_in(loop):
        if called_name(node) in calls:
            yield from _worked_on(node)


def _worked_on(call: ast.Call) -> set[str]:
    """The variable whose method it calls, and the one that it is given first."""
    return {part.id for part in (receiver(call), *call.args[:1]) if isinstance(part, ast.Name)}


def _marks(loop: ast.While) -> bool:
    """Tell whether it asks if something is in a container, or keeps something at an index."""
    return any(
        isinstance(node, ast.In | ast.NotIn)
        or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
        for node in ast.walk(loop)
    )
