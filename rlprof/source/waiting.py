"""Lines of a source file on which a program waits, for locks, queues, pipes, a time, by polling, and the nodes of a call tree that do."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from rlprof.model.activity import WaitKind
from rlprof.source.waiting_calls import (
    LOCK,
    SLEEPS,
    holds_a_lock,
    kind_of_call,
    kind_of_calls,
    receiver_name,
    signal_lines,
)
from rlprof.syntax.module import PARSED_FILES, SourceModule, called_name, parse
from rlprof.syntax.nodes import assigned, calls_in, given_to, names_in, nodes_in, targets_given

POLLS: Final = frozenset(
    {
        "done",
        "empty",
        "full",
        "get_nowait",
        "is_alive",
        "is_set",
        "locked",
        "poll",
        "put_nowait",
        "qsize",
        "ready",
        "try_acquire",
    }
)
"""Methods that ask for a state that another thread or process changes."""

CLOCKS: Final = frozenset({"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time"})
_CHEAP: Final = POLLS | CLOCKS | SLEEPS | {"any", "all", "len", "item", "bool", "int", "float"}
"""Calls that a loop may make and still do nothing but wait."""

_ASKING: Final = _CHEAP | {
    "list",
    "tuple",
    "set",
    "sorted",
    "range",
    "enumerate",
    "zip",
    "items",
    "keys",
    "values",
    "TimeoutError",
    "RuntimeError",
}
"""The same of a loop that goes through those who have not answered."""
_FILLS: Final = frozenset(
    {"add", "append", "discard", "extend", "pop", "popleft", "remove", "update"}
)
"""Methods that change how many elements there are."""

SHORT_S: Final = 0.05
"""Time-out of a wait, in seconds, below which a loop around it asks again and again."""


@lru_cache(maxsize=PARSED_FILES)
def waiting_lines(text: str) -> Mapping[int, WaitKind]:
    """The lines of ``text`` that wait, by what their calls are named; empty when unreadable.

    ``POLL``: every line of a loop that does nothing but ask, sleep in between and look at the
    time; and a question in the middle of other work that only goes round again
    (``if queue.empty(): continue``). A loop that looks at nothing but the time is ``SLEEP``.
    """
    module = parse(text)
    lines: dict[int, WaitKind] = {}
    if module is None:
        return lines
    signals = signal_lines(module.tree)
    for statement in module.statements:
        kind = kind_of_calls(statement)
        if kind is WaitKind.LOCK and statement.first_line in signals:
            kind = WaitKind.EVENT
        if kind is not None:
            lines |= dict.fromkeys(statement.lines, kind)
    # Last, since a loop that waits speaks for all its lines.
    for block in _blocks_in(module):
        lines |= dict.fromkeys(block.lines, block.kind)
    return lines


@lru_cache(maxsize=PARSED_FILES)
def asking_lines(text: str) -> frozenset[int]:
    """Lines of ``text`` that ask in a loop, and have its next turn ask again where there is nothing yet:
    ``try: item = queue.get_nowait()`` with handlers that go round again. Who gets something there also takes it.
    """
    module = parse(text)
    loops = (
        (node for node in ast.walk(module.tree) if isinstance(node, ast.While)) if module else ()
    )
    return frozenset(
        line
        for loop in loops
        for inner in _own_statements(loop.body)
        if isinstance(inner, ast.Try) and _asks_without_success(inner)
        if _does_nothing_else(loop, inner)
        or all(_ends_a_turn(handler) for handler in inner.handlers)
        for line in _block(inner.body[0], inner.body[-1], WaitKind.POLL, inner).lines
    )


def _does_nothing_else(loop: ast.While, asking: ast.Try) -> bool:
    """Tell whether a turn without an answer is nothing but the question: an actor that steps, and looks for new weights after it, does not wait."""
    return all(statement is asking or _is_waiting(statement) for statement in loop.body)


def _ends_a_turn(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Continue)


def _goes_on(handler: ast.ExceptHandler) -> bool:
    return all(isinstance(statement, ast.Pass) for statement in handler.body)


def clock_loops(text: str) -> frozenset[int]:
    """Lines of loops that sleep and look at nothing but the time: ``while time.monotonic() < due: time.sleep(0.001)``."""
    module = parse(text)
    if module is None:
        return frozenset()
    return frozenset(
        line for block in _blocks_in(module) if block.kind is WaitKind.SLEEP for line in block.lines
    )


def polled(text: str, line: int) -> tuple[str, ...]:
    """Names of the questions asked on a line, or by the loop or branch around it that does nothing but wait, sorted."""
    module = parse(text)
    if module is None:
        return ()
    around = next((block for block in _blocks_in(module) if line in block.lines), None)
    here = (call for statement in module.statements_at(line) for call in statement.calls())
    asking = here if around is None else calls_in(around.asks)
    return tuple(sorted({called_name(call) for call in asking} & POLLS))


class _Block(NamedTuple):
    """Lines that wait."""

    lines: range
    kind: WaitKind
    asks: ast.AST
    """The code that asks whether the wait is over."""


def _block(first: ast.AST, last: ast.AST, kind: WaitKind, asks: ast.AST) -> _Block:
    begin = getattr(first, "lineno", 0)
    return _Block(range(begin, (getattr(last, "end_lineno", 0) or begin) + 1), kind, asks)


def _blocks_in(module: SourceModule) -> Iterator[_Block]:
    for node in ast.walk(module.tree):
        yield from _waiting_blocks(node)


def _waiting_blocks(node: ast.AST) -> Iterator[_Block]:
    if not isinstance(node, ast.While) or _blocks(node.test):
        return  # ``while not done.wait(timeout=1.0)`` looks around once a second: no polling.
    if _only_waits(node.body):
        if not _gets_on_by_itself(node):
            yield _block(node, node, WaitKind.POLL if _asks(node) else WaitKind.SLEEP, node)
        return
    if _gathers(node):
        for nap in _naps(node):
            yield _block(nap, nap, WaitKind.POLL, node)
    yield from _naps_of_idle_turns(node.body)
    for inner in _own_statements(node.body):
        if isinstance(inner, ast.If) and _goes_round_again(inner):
            if inner in node.body or _has_question(inner.test):
                yield _block(inner, inner.body[-1], WaitKind.POLL, inner)
        elif isinstance(inner, ast.Try) and _asks_without_success(inner):
            for handler in inner.handlers:
                if not _goes_on(handler) or _does_nothing_else(node, inner):
                    yield _block(handler, handler, WaitKind.POLL, inner)


def _own_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a loop's body, those of its branches too, but none of a loop in it."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.With | ast.Try):
            yield from _own_statements(statement.body)
        if isinstance(statement, ast.If | ast.Try):
            yield from _own_statements(statement.orelse)


def _naps_of_idle_turns(body: list[ast.stmt]) -> Iterator[_Block]:
    """Yield the branch of ``if queue.empty(): sleep(0.05)``, or of its ``else``, in whose turns nothing else is done."""
    last = body[-1]
    if not isinstance(last, ast.If) or not last.orelse or not _only_waits(body[:-1]):
        return
    if not _has_question(last.test) or not _has_cheap_calls_alone(last.test):
        return
    for branch, other in ((last.body, last.orelse), (last.orelse, last.body)):
        if _only_waits(branch) and not _only_waits(other):
            yield _block(branch[0], branch[-1], WaitKind.POLL, last.test)


def _blocks(test: ast.expr) -> bool:
    """Tell whether each round of a loop begins with a wait that lasts until something happens."""
    return any(
        kind_of_call(call) not in (None, WaitKind.SLEEP) and not _has_short_timeout(call)
        for call in calls_in(test)
    )


def _has_short_timeout(call: ast.Call) -> bool:
    given = given_to(call)
    return any(
        isinstance(argument, ast.Constant)
        and isinstance(argument.value, int | float)
        and argument.value < SHORT_S
        for argument in given
    )


def _only_waits(body: list[ast.stmt]) -> bool:
    return all(_is_waiting(statement) for statement in body)


def _is_waiting(node: ast.stmt) -> bool:
    """Tell whether ``node`` does nothing but ask, sleep, look at the time or leave the loop."""
    if isinstance(node, ast.Pass | ast.Continue | ast.Break):
        return True
    if isinstance(node, ast.Return | ast.Raise | ast.Expr | ast.Assign | ast.AugAssign):
        return _has_cheap_calls_alone(node) and not _changes_an_object(node)
    if isinstance(node, ast.If):
        return _has_cheap_calls_alone(node.test) and _only_waits(node.body + node.orelse)
    if isinstance(node, ast.Try):
        handlers = all(_only_waits(handler.body) for handler in node.handlers)
        return handlers and _only_waits(node.body + node.orelse + node.finalbody)
    if isinstance(node, ast.With):
        # What is asked for may be changed under a lock alone.
        names = [receiver_name(item.context_expr) for item in node.items]
        return all(map(LOCK.search, names)) and _only_waits(node.body)
    return False


def _changes_an_object(node: ast.stmt) -> bool:
    """Tell whether others may see what a statement assigns: ``self.tick += 1`` is work, as of a clock that others wait for."""
    return any(
        isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store)
        for part in nodes_in(*targets_given(node))
    )


def _has_cheap_calls_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise):
        return True
    return all(called_name(call) in _CHEAP for call in calls_in(node))


def _asks(loop: ast.While) -> bool:
    """Tell whether something else than the time ends the loop."""
    names = {called_name(call) for call in calls_in(loop)}
    if names & POLLS:
        return True
    if names & CLOCKS:
        return False
    return not (isinstance(loop.test, ast.Constant) and not _leaves(loop))


def _gets_on_by_itself(loop: ast.While) -> bool:
    """Tell whether a loop changes what it goes by, and asks nobody: ``while grid[row, column] == mine: row += 1`` counts, and
    ``while node.parent: node = node.parent`` climbs.
    """
    parts = list(ast.walk(loop))
    names = {called_name(part) for part in parts if isinstance(part, ast.Call)}
    if names & (POLLS | SLEEPS | CLOCKS):
        return False
    tests = [loop.test, *(part.test for part in parts if isinstance(part, ast.If))]
    gone_by = set(chain.from_iterable(map(names_in, tests)))
    for part in parts:
        if isinstance(part, ast.AugAssign) and gone_by & names_in(part.target):
            return True
        for each in assigned(part):
            # Of what others may change, an attribute or an element, a loop that waits takes a new look.
            looks = any(
                isinstance(of, ast.Attribute | ast.Subscript | ast.Call)
                for of in ast.walk(each.value)
            )
            is_of_itself = bool(gone_by & names_in(each.value))
            if gone_by & names_in(each.target) and (is_of_itself or not looks):
                return True
    return False


def _leaves(loop: ast.While) -> bool:
    return any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))


def _gathers(loop: ast.While) -> bool:
    """Tell whether a loop goes on until questions have been answered, and does nothing else:
    ``while missing: if conn.poll(): missing.remove(conn)``. One that works at each turn, too, naps to keep its pace.
    """
    answers = [
        node for node in ast.walk(loop) if isinstance(node, ast.If) and _has_question(node.test)
    ]
    answering = {id(inner) for answer in answers for inner in nodes_in(*answer.body)}
    asking = (node for node in ast.walk(loop) if id(node) not in answering)
    if any(isinstance(node, ast.Call) and called_name(node) not in _ASKING for node in asking):
        return False
    changed = {name for answer in answers for part in answer.body for name in _changed_by(part)}
    return not changed.isdisjoint(_counted_in(loop.test))


def _has_question(test: ast.expr) -> bool:
    return any(called_name(node) in POLLS for node in calls_in(test))


def _counted_in(test: ast.expr) -> Iterator[str]:
    """Yield the variables that a test looks at, themselves or their length."""
    match test:
        case ast.Name(id=name) | ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            yield name
        case ast.Compare():
            for part in (test.left, *test.comparators):
                yield from _counted_in(part)
        case ast.BoolOp():
            for part in test.values:
                yield from _counted_in(part)
        case ast.UnaryOp(op=ast.Not()):
            yield from _counted_in(test.operand)
        case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.Name(id=name)]):
            yield name
        case ast.Call(
            func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp() | ast.ListComp() as of]
        ):
            for each in of.generators:
                yield from _counted_in(each.iter)


def _changed_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the variables that get or lose elements, or are counted up or down. What is only assigned may be a flag that ends a
    loop of another purpose.
    """
    for node in ast.walk(statement):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                if method in _FILLS:
                    yield name


def _naps(loop: ast.While) -> Iterator[ast.stmt]:
    """Yield its statements that only sleep."""
    for node in ast.walk(loop):
        match node:
            case ast.Expr(value=ast.Call() as call) if called_name(call) in SLEEPS:
                yield node


def _goes_round_again(node: ast.If) -> bool:
    """``if queue.empty(): time.sleep(0.001); continue`` in a loop that works otherwise."""
    if not isinstance(node.body[-1], ast.Continue) or node.orelse:
        return False
    return _has_cheap_calls_alone(node.test) and _only_waits(node.body)


def _asks_without_success(node: ast.Try) -> bool:
    """``try: item = queue.get_nowait()`` with handlers that only sleep or go round again."""
    names = {called_name(call) for statement in node.body for call in calls_in(statement)}
    return bool(names & POLLS) and all(_only_waits(handler.body) for handler in node.handlers)


@lru_cache(maxsize=PARSED_FILES)
def locked_lines(text: str) -> frozenset[int]:
    """Lines of ``text`` inside a ``with`` of something named like a lock, its own line left out."""
    module = parse(text)
    if module is None:
        return frozenset()
    return frozenset(
        line
        for node in ast.walk(module.tree)
        if isinstance(node, ast.With | ast.AsyncWith) and holds_a_lock(node)
        for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    )
