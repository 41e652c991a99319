"""Being told to stop: once, as an exception, and never in the middle of tidying up."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from rlprof.model.crash import STOPPED_BY

ENDING: Final = tuple(sorted(STOPPED_BY))


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

    with _handled_by(interrupt):
        yield


@contextmanager
def shielded() -> Iterator[None]:
    """Return what arrives in here is told once it is through."""
    arrived: list[int] = []
    try:
        with _handled_by(lambda number, _frame: arrived.append(number)):
            yield
    finally:
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """As nohup and background jobs want it, what is ignored stays so, also in what is started meanwhile."""
    heard = [signum for signum in ENDING if signal.getsignal(signum) is not signal.SIG_IGN]
    before = {signum: signal.signal(signum, handler) for signum in heard}
    try:
        yield
    finally:
        for signum, former in before.items():
            signal.signal(signum, former)
