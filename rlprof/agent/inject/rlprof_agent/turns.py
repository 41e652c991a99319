"""Turns: what is counted or summed up from one stack of the probe to the next."""

from __future__ import annotations

from _thread import get_ident

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Callable, Protocol

    class TakesTurns(Protocol):
        def turn(self, own_ns: int) -> None: ...
        def begin(self) -> None: ...
        def stop(self) -> None: ...


FIRST_THREAD = get_ident()
TAKES_TURNS = [FIRST_THREAD]
"""The thread of which stacks are taken; 0 while there is none."""

_all: list[TakesTurns] = []
_acts: list[Callable[[], None]] = []


def enrol(each: TakesTurns) -> None:
    """Have it told of turns from here on."""
    if each not in _all:
        _all.append(each)


def at_each(act: Callable[[], None]) -> None:
    """Have ``act`` called at each turn, in the handler of a signal: whether stacks are taken or not is nothing to it."""
    _acts.append(act)


def is_enrolled(each: TakesTurns) -> bool:
    return each in _all


def turn(own_ns: int) -> None:
    """A stack of the main thread was taken, which had so much CPU time of its own since the last one."""
    for act in _acts:
        act()
    for each in _all:
        each.turn(own_ns)


def begin() -> None:
    """Stacks are taken from here on, or one was cut."""
    TAKES_TURNS[0] = FIRST_THREAD
    for each in _all:
        each.begin()


def end() -> None:
    """No stacks are taken for now."""
    TAKES_TURNS[0] = 0


def stop() -> None:
    """Nobody is told any more."""
    for each in _all:
        each.stop()
    _all.clear()
