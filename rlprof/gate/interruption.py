"""Being told to stop: once, as an exception, and never in the middle of tidying up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked us to end: what was measured by then is told, and the command ends."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def interruptible() -> Iterator[None]:
    """The first of the signals raises :class:`Interrupted`; those after it are not heard."""
    is_over = False

    def interrupt(signum: int, _frame: FrameType | None) -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            raise Interrupted(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in _heard()}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def shielded() -> Iterator[None]:
    """What arrives in here is told once it is through."""
    arrived: list[int] = []
    before = {
        signum: signal.signal(signum, lambda number, _frame: arrived.append(number))
        for signum in _heard()
    }
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)


def _heard() -> list[signal.Signals]:
    """As nohup and background jobs want it, what is ignored stays so, also in what is started meanwhile."""
    return [signum for signum in ENDING if signal.getsignal(signum) is not signal.SIG_IGN]
