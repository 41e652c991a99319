"""tqdm: what its bars are told has been done."""

from __future__ import annotations

from _thread import allocate_lock
from _weakref import ref

from .. import foreign_errors, turns
from ..counters import MOST_AT_ONCE, counter
from . import call_marks
from .call_kinds import NOT_AT_ALL

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

    from .call_kinds import Told


_MANY = 8
"""Bars that are read at each turn; of more, as agents have that keep one each, so many a turn on average. To read one takes 0.5 µs."""


def _nothing() -> None:
    """A reference to nothing."""


def count_updates(module: ModuleType) -> None:
    """Read how far bars are, for tqdm knows all that live, at each turn and where a call of ``update`` is looked at. What one does after the last of these
    is not counted.
    """
    iterations = counter("iterations:tqdm")
    bars = Bars(module.tqdm, iterations)
    turns.at_each(bars.read)
    call_marks.count(module.tqdm.update, iterations, bars.look)


class Bars:
    """Bars of one process, and how far they were when they were last read."""

    def __init__(self, kind: Any, iterations: Any) -> None:
        self._kind, self._iterations = kind, iterations
        self._lock = allocate_lock()
        self._turns_to_wait = 0
        """For which nothing is read, where there are many."""
        self._at: dict[int, tuple[Any, int]] = {}
        """A weak reference to a bar, and how far it was, by its number, which another one may have when it is gone."""

    def look(self, _frame: FrameType, _bar: Any) -> Told:
        """Read them from a call of ``update``, which itself counts for nothing."""
        self.read()
        return NOT_AT_ALL

    def read(self) -> None:
        if self._turns_to_wait > 0:
            self._turns_to_wait -= 1
            return
        # Never waited for: a turn may come while a call is looked at, and would count the same once more.
        if not self._lock.acquire(False):
            return
        try:
            self._read()
        except Exception as error:
            # A tqdm that knows no bars, or a thread that makes one meanwhile.
            foreign_errors.pass_on(error)
        finally:
            self._lock.release()

    def _read(self) -> None:
        at, further = {}, 0
        bars = list(self._kind._instances)
        self._turns_to_wait = len(bars) // _MANY
        for bar in bars:
            done = bar.n
            # Bars of bytes are told fractions.
            if type(done) is int:
                at[id(bar)] = ref(bar), done
                grown = done - self._before(bar, done)
                further += grown if 0 < grown <= MOST_AT_ONCE else 0
        self._at = at
        self._iterations.add(further)

    def _before(self, bar: Any, done: int) -> int:
        known, before = self._at.get(id(bar), (_nothing, 0))
        if known() is bar:
            return before
        initial = bar.initial
        return initial if type(initial) is int else done
