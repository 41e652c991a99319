"""Searches of lists that no look has seen: Python heeds signals where it calls something, and a function that ends with
``return state in self.visited`` calls nothing, so that the agent looks at its caller each time.

The source tells that it is a list, and the time tells that it is long.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from rlprof.detectors.recognisers.calls.long_lists import SEARCHED
from rlprof.detectors.recognisers.calls.slow_lines import SlowOnLine
from rlprof.model.calltree import CallTree
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines
from rlprof.source.values import Values, value_of
from rlprof.syntax.changed import values_given
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.nodes import arguments_of, assigned_to

LONGER: Final = 10
"""Times that a search takes of what the lines which call its function take by themselves. To call one takes 0.05 µs or more, and to compare an element
0.01: so it goes through 50 or more. By reason.
"""

_LISTS: Final = frozenset({"list", "deque"})


def searched_by_time(
    tree: CallTree, lines: UserLines, values: Values, frame: Frame
) -> SlowOnLine | None:
    """Return the search at a line that does nothing else, in a function without a loop."""
    module = lines.module(frame.file)
    statements = lines.statements(frame)
    if module is None or len(statements) != 1 or module.in_loop(frame.line):
        return None
    (statement,) = statements
    searched = list(_searched(statement))
    if len(searched) != 1 or [*statement.calls()]:
        return None
    known = values.of(frame.file, statement)
    if value_of(searched[0], known) is not None or not _is_a_list(searched[0], statement, module):
        return None
    nodes = [node for node in tree.hot_nodes() if _is_at(tree.frame(node), frame)]
    asking = {tree.nodes[node].parent for node in nodes} - {NO_PARENT}
    took_us = sum(tree.self_cost(node).wall_us for node in nodes)
    if took_us < LONGER * sum(tree.self_cost(node).wall_us for node in asking):
        return None
    seen = f"{ast.unparse(searched[0])}: a list, and long by the time that it takes"
    return SlowOnLine(SEARCHED, seen, is_alone=True)


def _searched(statement: Statement) -> Iterator[ast.expr]:
    for node in statement.walk():
        if isinstance(node, ast.Compare):
            for operator, container in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.In | ast.NotIn):
                    yield container


def _is_at(frame: Frame, other: Frame) -> bool:
    return (frame.file, frame.line) == (other.file, other.line)


def _is_a_list(container: ast.expr, statement: Statement, module: SourceModule) -> bool:
    """Tell whether the file gives it lists and nothing else."""
    given: list[ast.expr] = []
    match container:
        case ast.Attribute(attr=name):
            given = [value for attribute, value in values_given(module) if attribute == name]
        case ast.Name(id=name) if not _is_a_parameter(name, statement):
            given = [each.value for each in assigned_to(name, ast.walk(module.tree))]
    return bool(given) and all(map(_makes_a_list, given))


def _is_a_parameter(name: str, statement: Statement) -> bool:
    return statement.function is not None and name in arguments_of(statement.function.node)


def _makes_a_list(value: ast.expr) -> bool:
    match value:
        case ast.Call():
            return called_name(value) in _LISTS
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return _makes_a_list(left) or _makes_a_list(right)
    return isinstance(value, ast.List | ast.ListComp)
