"""Waits of a source file that a time-out or a clock may end, and not somebody's work: what keeps a pace."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from rlprof.source.waiting import CLOCKS, clock_loops
from rlprof.source.waiting_calls import SLEEPS
from rlprof.syntax.module import PARSED_FILES, Statement, called_name, parse
from rlprof.syntax.nodes import assigned, given_by_name, given_to

LOOKS_AROUND_S: Final = 0.5
"""Time-out in seconds from which on a wait only looks around now and then, as ``done.wait(timeout=1.0)`` does."""


@lru_cache(maxsize=PARSED_FILES)
def timed_waits(text: str) -> frozenset[int]:
    """Lines of ``text`` that wait with a short time-out, or one that is not known: ``while not stop.wait(0.02)`` is a sleep
    that can be cut short.
    """
    return limited_lines(text, frozenset({"wait"}))


def limited_lines(text: str, names: Collection[str]) -> frozenset[int]:
    """Lines of ``text`` with a call of one of ``names`` that is given a short time-out, or one that is not known."""
    module = parse(text)
    if module is None:
        return frozenset()
    return frozenset(
        line
        for statement in module.statements
        if any(called_name(call) in names and _has_limit(call) for call in statement.calls())
        for line in statement.lines
    )


@lru_cache(maxsize=PARSED_FILES)
def paced_sleeps(text: str) -> frozenset[int]:
    """Lines of ``text`` that sleep for a time that depends on a clock: ``time.sleep(due - time.monotonic())`` keeps a rate, as
    ``rate.sleep()`` does.
    """
    module = parse(text)
    if module is None:
        return frozenset()
    clocked = _set_by_a_clock(module.tree)
    paced = (
        line
        for statement in module.statements
        for call in statement.calls()
        if called_name(call) in SLEEPS and _is_paced(call, statement, clocked)
        for line in statement.lines
    )
    return clock_loops(text).union(paced)


def _is_paced(call: ast.Call, statement: Statement, clocked: Collection[str]) -> bool:
    """Tell whether a clock sets how long a call sleeps, or whether it does."""
    length = given_to(call)
    deciding = [*length, *statement.conditions]
    return not length or any(_reads_a_clock(part, clocked) for part in deciding)


def _set_by_a_clock(tree: ast.AST) -> frozenset[str]:
    """Variables and attributes that come from a clock, in one step or several."""
    pairs = [(each.target, each.value) for node in ast.walk(tree) for each in assigned(node)]
    found: set[str] = set()
    while True:
        new = {ast.unparse(target) for target, value in pairs if _reads_a_clock(value, found)}
        if new <= found:
            return frozenset(found)
        found |= new


def _reads_a_clock(expression: ast.AST, clocked: Collection[str]) -> bool:
    return any(
        (isinstance(node, ast.Call) and called_name(node) in CLOCKS)
        or (isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in clocked)
        for node in ast.walk(expression)
    )


def _has_limit(call: ast.Call) -> bool:
    """Tell whether a wait is given a time-out, short or not known: first, as ``wait`` and ``poll`` take it, or by its name."""
    given = [
        *(call.args[:1] if called_name(call) != "get" else call.args[1:2]),
        *given_by_name(call, "timeout"),
    ]
    return any(not _only_looks_around(timeout) for timeout in given)


def _only_looks_around(timeout: ast.expr) -> bool:
    match timeout:
        case ast.Constant(value=None):
            return True
        case ast.Constant(value=int() | float() as seconds):
            return seconds >= LOOKS_AROUND_S
    return False
