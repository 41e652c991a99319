"""Calls that wait, by what they are named and what they are called on: for locks, queues, pipes, a time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from rlprof.model.activity import WaitKind
from rlprof.syntax.imports import own_name
from rlprof.syntax.module import Statement, called_name
from rlprof.syntax.nodes import given_to, nodes_in

SLEEPS: Final = frozenset({"sleep", "sched_yield"})

LOCK: Final = re.compile(r"lock|mutex|sem(aphore)?|guard|cond(ition)?$", re.IGNORECASE)
_MUTEX: Final = re.compile(r"lock|mutex|guard", re.IGNORECASE)
_LOCKS_OF_FILES: Final = frozenset({"flock", "lockf"})
_GOES_ON: Final = frozenset({"LOCK_UN", "LOCK_NB"})
"""Flags of such a call that gives the lock back, or goes on without it."""
_QUEUE: Final = re.compile(r"queue|(^|_)q(s|_|$)|mailbox|inbox|outbox", re.IGNORECASE)


def kind_of_calls(statement: Statement) -> WaitKind | None:
    """Return what the calls of one statement may wait for, by their names and those they are called on."""
    if holds_a_lock(statement.node):
        return WaitKind.LOCK
    kinds = map(kind_of_call, statement.calls())
    return next((kind for kind in kinds if kind is not None), None)


def holds_a_lock(node: ast.AST) -> bool:
    """Tell whether it is a ``with`` of something named like a lock."""
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        LOCK.search(receiver_name(item.context_expr)) for item in node.items
    )


_ASKS_FOR_MORE: Final = frozenset(
    {"accept", "communicate", "input", "read", "readexactly", "readinto", "readline", "readlines", "readuntil", "recv"}
    | {"recv_bytes", "recv_into", "recv_json", "recv_multipart", "recv_pyobj", "recv_string", "recvfrom", "select"}
)  # fmt: skip


def may_wait(call: ast.Call) -> bool:
    """Tell whether a call may wait for somebody, by its name: for an answer, another process, a time."""
    is_join = called_name(call) == "join" and bool(
        call.args
    )  # Of texts, as a rule; that of a process has a frame.
    return called_name(call) in _ASKS_FOR_MORE or (kind_of_call(call) is not None and not is_join)


def kind_of_call(call: ast.Call) -> WaitKind | None:
    """Return what one call may wait for; None where its name says nothing of a wait."""
    name = called_name(call)
    on = receiver_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in SLEEPS:
        return WaitKind.SLEEP
    if name == "acquire" or _waits_for_a_file(call):
        return WaitKind.LOCK
    if name in ("recv", "recv_bytes", "send", "send_bytes"):
        return WaitKind.PIPE if not re.search("sock", on) else WaitKind.SOCKET
    if name in ("get", "put") and _QUEUE.search(on):
        return WaitKind.QUEUE
    if name in ("wait", "wait_for"):
        return WaitKind.EVENT
    if name == "result":
        return WaitKind.FUTURE
    if name == "join" and not isinstance(getattr(call.func, "value", None), ast.Constant):
        # ``", ".join(...)`` has arguments that are no time-out.
        return WaitKind.JOIN if not call.args else None
    return None


def _waits_for_a_file(call: ast.Call) -> bool:
    """Tell whether ``fcntl.flock(file, flags)`` waits until others have given the file's lock back."""
    flags = {own_name(part) for part in nodes_in(*given_to(call)) if isinstance(part, ast.expr)}
    return called_name(call) in _LOCKS_OF_FILES and not flags & _GOES_ON


def signal_lines(tree: ast.AST) -> frozenset[int]:
    """Lines that acquire what their function never releases: a semaphore that somebody else counts
    up when there is room or work. What is named a lock is one, and its wrappers release elsewhere.
    """
    return frozenset(
        call.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and function.name not in ("__enter__", "acquire", "lock")
        for call, on in _calls_of(function, "acquire")
        if not _MUTEX.search(on)
        and on not in {released for _, released in _calls_of(function, "release")}
    )


def _calls_of(function: ast.AST, method: str) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of ``method``, and what each is called on."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if name == method:
                yield node, receiver_name(receiver)


def receiver_name(node: ast.expr) -> str:
    """The last name of an expression: ``self.buffer_lock`` -> ``buffer_lock``."""
    if isinstance(node, ast.Call):
        return receiver_name(node.func)
    if isinstance(node, ast.Subscript):
        return receiver_name(node.value)
    return own_name(node)
