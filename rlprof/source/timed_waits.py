"""Waits of a source file that a time-out may end, and not somebody's work: what keeps a pace."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final

from rlprof.syntax.module import PARSED_FILES, called_name, parse

LOOKS_AROUND_S: Final = 0.5
"""Time-out in seconds from which on a wait only looks around now and then, as ``done.wait(timeout=1.0)`` does."""


@lru_cache(maxsize=PARSED_FILES)
def timed_waits(text: str) -> frozenset[int]:
    """Lines of ``text`` that wait with a short time-out, or one that is not known: ``while not stop.wait(0.02)`` is a sleep
    that can be cut short.
    """
    module = parse(text)
    if module is None:
        return frozenset()
    return frozenset(
        line
        for statement in module.statements
        if any(_is_timed(node) for node in statement.calls())
        for line in statement.lines
    )


def _is_timed(call: ast.Call) -> bool:
    if called_name(call) != "wait":
        return False
    given = [
        *call.args[:1],
        *(keyword.value for keyword in call.keywords if keyword.arg == "timeout"),
    ]
    return any(not _only_looks_around(timeout) for timeout in given)


def _only_looks_around(timeout: ast.expr) -> bool:
    match timeout:
        case ast.Constant(value=None):
            return True
        case ast.Constant(value=int() | float() as seconds):
            return seconds >= LOOKS_AROUND_S
    return False
