"""Time by stack of a function that really runs, for detectors to look at.

A tracer sees every line, so that programs of milliseconds give the same picture each time. Its own time is left
out, and so is what other programs take. Small calls still look dearer than they are: what is near a threshold is
not for it.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

Stack = tuple[str, ...]
COLLECTING = ":GC:"
"""As austin names a garbage collection."""
MAY_BE_A_WAIT_S = 50e-6
"""Away from the CPU for this long, the thread waits, if it was the one to leave."""


@dataclass
class Spent:
    """Seconds at work, and waiting."""

    busy_s: float = 0.0
    idle_s: float = 0.0


class LineTracer:
    """Seconds by stack, outermost frame first, as ``tests/factories.py`` writes frames."""

    def __init__(self) -> None:
        self._parents: list[int] = [-1]
        self._places: list[tuple[CodeType | None, int]] = [(None, 0)]
        self._children: dict[tuple[int, CodeType | None, int], int] = {}
        self._spent: dict[int, Spent] = defaultdict(Spent)
        self._stack = [0]
        self._since = self._cpu_since = 0.0
        self._sleeps = 0

    @contextmanager
    def on(self):
        before = sys.gettrace()
        gc.callbacks.append(self._collects)
        self._has_left_the_cpu()
        self._go_on()
        sys.settrace(self._calls)
        try:
            yield self
        finally:
            sys.settrace(before)
            gc.callbacks.remove(self._collects)
            del self._stack[1:]

    def stacks(self) -> dict[Stack, Spent]:
        return {self._stack_of(node): spent for node, spent in self._spent.items() if node}

    def _calls(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename == __file__:
            return None
        self._charge()
        self._stack.append(self._child(self._stack[-1], frame.f_code, frame.f_lineno))
        self._go_on()
        return self._goes_on

    def _goes_on(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
        if event != "exception":
            self._charge()
            caller = self._parents[self._stack.pop()]
            if event == "line":
                self._stack.append(self._child(caller, frame.f_code, frame.f_lineno))
        self._go_on()
        return self._goes_on

    def _collects(self, phase: str, _info: dict[str, int]) -> None:
        self._charge()
        if phase == "start":
            self._stack.append(self._child(self._stack[-1], None, 0))
        else:
            self._stack.pop()
        self._go_on()

    def _charge(self) -> None:
        cpu = time.thread_time() - self._cpu_since
        away = time.perf_counter() - self._since - cpu
        spent = self._spent[self._stack[-1]]
        spent.busy_s += cpu
        if away > MAY_BE_A_WAIT_S and self._has_left_the_cpu():
            spent.idle_s += away

    def _has_left_the_cpu(self) -> bool:
        """Whether the thread has gone to sleep since this was last asked; else others took its CPU."""
        before = self._sleeps
        self._sleeps = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        return self._sleeps > before

    def _go_on(self) -> None:
        self._cpu_since = time.thread_time()
        self._since = time.perf_counter()

    def _child(self, parent: int, code: CodeType | None, line: int) -> int:
        key = (parent, code, line)
        if key not in self._children:
            self._children[key] = len(self._parents)
            self._parents.append(parent)
            self._places.append((code, line))
        return self._children[key]

    def _stack_of(self, node: int) -> Stack:
        stack = []
        while node > 0:
            code, line = self._places[node]
            stack.append(COLLECTING if code is None else _place(code, line))
            node = self._parents[node]
        return tuple(reversed(stack))


def _place(code: CodeType, line: int) -> str:
    # Python 3.10 has no qualified names.
    name = getattr(code, "co_qualname", code.co_name)
    return f"{code.co_filename}:{line} {name}"
