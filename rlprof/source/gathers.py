"""Loops that gather a batch of what others send, and how long each wait in them may last."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final

from rlprof.source.timed_waits import limited_lines
from rlprof.syntax.module import PARSED_FILES, Loop, called_name, parse
from rlprof.syntax.nodes import calls_in, nodes_in

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
        if (loop := module.innermost_loop(line)) is not None and _gathers(loop)
    )


def _gathers(loop: Loop) -> bool:
    """Tell whether its turns append to a list, and a test asks how long that is."""
    grown = {
        ast.unparse(call.func.value)
        for call in calls_in(*loop.body)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    }
    tests = [node.test for node in nodes_in(loop) if isinstance(node, ast.If | ast.While)]
    return any(
        called_name(call) == "len" and call.args and ast.unparse(call.args[0]) in grown
        for call in calls_in(*tests)
    )
