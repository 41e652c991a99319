"""Loops that gather a batch of what others send, and how long each wait in them may last."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final

from rlprof.source.timed_waits import limited_lines
from rlprof.source.waiting import CLOCKS
from rlprof.syntax.module import (
    PARSED_FILES,
    Loop,
    called_name,
    parse,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, lines_of, nodes_in

_TAKES: Final = frozenset({"get", "recv", "poll", "wait"})
"""Names of methods that wait for what others send."""


@lru_cache(maxsize=PARSED_FILES)
def gathering_waits(text: str) -> frozenset[int]:
    """Lines of ``text`` that wait with a time-out for one more of a batch, in a loop that goes on until there are so many:
    ``while len(batch) < self.most: batch.append(inbox.get(timeout=left))``.
    """
    module = parse(text)
    if module is None:
        return frozenset()
    return frozenset(
        line
        for line in limited_lines(text, _TAKES)
        if (loop := module.innermost_loop(line)) is not None
        and _gathers(loop, line)
        and not _goes_on(loop, line)
    )


def _gathers(loop: Loop, line: int) -> bool:
    """Tell whether its turns append what comes on ``line`` to a list, and a test asks how long that is."""
    taken = {
        name
        for node in nodes_in(*loop.body)
        if isinstance(node, ast.Assign | ast.NamedExpr) and line in lines_of(node)
        for name in variables_assigned(node)
    }
    grown = {
        ast.unparse(call.func.value)
        for call in calls_in(*loop.body)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and (line in lines_of(call) or not taken.isdisjoint(variables_read(*call.args)))
    }
    tests = [node.test for node in nodes_in(loop) if isinstance(node, ast.If | ast.While)]
    return any(
        called_name(call) == "len" and call.args and ast.unparse(call.args[0]) in grown
        for call in calls_in(*tests)
    )


def _goes_on(loop: Loop, line: int) -> bool:
    """Tell whether the loop waits again after a time-out, and no clock ends it."""
    handlers = [
        handler
        for node in nodes_in(*loop.body)
        if isinstance(node, ast.Try) and any(line in lines_of(part) for part in node.body)
        for handler in node.handlers
    ]
    leaves = any(
        isinstance(node, ast.Break | ast.Return | ast.Raise) for node in nodes_in(*handlers)
    )
    tests = [node.test for node in nodes_in(loop) if isinstance(node, ast.If | ast.While)]
    has_clock = any(called_name(call) in CLOCKS for call in calls_in(*tests))
    return bool(handlers) and not leaves and not has_clock
