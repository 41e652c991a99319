"""Take off all that the program could see of the agent while an instrument of its own is on.

A debugger, profiler or tracer of the program's is to show what it would without rlprof. So before it is
switched on, each part of the agent that could show up in it steps aside: the probe, the finder of
imports, what stands in for Python's functions, and what Python calls around a fork and at the end.
"""

from __future__ import annotations

from . import foreign_errors
from .real import os

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

_parts: list[Any] = []
_aside_in = 0
"""The process that stepped aside; 0 for none."""


def takes_part(part: Any) -> None:
    """Have ``part`` told by its methods ``step_aside`` and ``step_back``."""
    _parts.append(part)
    if _aside_in:
        part.step_aside()


def step_aside() -> None:
    global _aside_in
    if not _aside_in:
        _aside_in = os.getpid()
        _each("step_aside")


def step_back() -> None:
    """Be as before, but for a child that was forked meanwhile: it has no agent."""
    global _aside_in
    if _aside_in == os.getpid():
        _aside_in = 0
        _each("step_back")


def _each(step: str) -> None:
    for part in _parts:
        try:
            getattr(part, step)()
        except BaseException as error:
            if foreign_errors.goes_on(error):
                raise


class Replaced:
    """An attribute of a module or class of the program's that is ours for now."""

    def __init__(self, owner: Any, name: str, ours: Any) -> None:
        self._owner, self._name, self._ours = owner, name, ours
        self._real = vars(owner).get(name)
        setattr(owner, name, ours)
        takes_part(self)

    def step_aside(self) -> None:
        if vars(self._owner).get(self._name) is not self._ours:
            return  # The program has put something else there.
        if self._real is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._real)

    def step_back(self) -> None:
        if vars(self._owner).get(self._name) is self._real:
            setattr(self._owner, self._name, self._ours)


def hook(function: Callable[[], Any], instead: Callable[[], Any]) -> Any:
    """``function`` for those who never give one back, as atexit and forks. Aside, what ``instead()``
    returned is called in its place, which is to be C code: that has no frames.
    """

    # Of its own class, for that is where Python looks a call up.
    class Hook:
        __call__: Any = staticmethod(function)

        @classmethod
        def step_aside(cls: Any) -> None:
            cls.__call__ = staticmethod(instead())

        @classmethod
        def step_back(cls: Any) -> None:
            cls.__call__ = staticmethod(function)

    takes_part(Hook)
    return Hook()
