"""Counters of this process: memory shared with the recorder, renewed in a forked child."""

from __future__ import annotations

import sys

# The C module, without stubs: ``functools`` would pull in collections.
from _functools import partial  # type: ignore[import-not-found]
from _weakref import ref

from . import foreign_errors
from .plain_reads import MISSING, in_classes, is_metaclass, kept_as

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    SizeOf = Callable[[Any], int]

MOST_AT_ONCE = 1 << 40
"""Most that one call may count for: no program makes so many steps, and a cell has 63 bits."""

_FEW = 64
"""References to what is gone that may stay."""
_MANY = 64
"""Objects of a class that tell how many all others are."""
_counters: dict[str, EventCounter] = {}


class EventCounter:
    """Events of one name, counted by ``counter.cell[0] += n`` or ``counter.add(n)``."""

    __slots__ = ("_alike", "_kept", "_measured_by", "_of_classes", "cell", "inner", "name", "sizes")

    def __init__(self, name: str, size_of: Optional[SizeOf]) -> None:
        self.name = name
        self.inner: Optional[EventCounter] = None
        """The counter in which nothing counts that is called by what this one counts."""
        self.sizes: dict[int, int] = {}
        """Amount that one call of an object counts for, by its ``id``, while it lives."""
        self._kept: dict[int, Any] = {}
        """Weak references by ``id`` of what has a size, and some of what is gone."""
        self._of_classes: dict[int, tuple[int, Any]] = {}
        """The same for all objects of a class that cannot be watched, as one with slots; by its ``id``, for the program may have
        classes that cannot be hashed. With a weak reference: a class holds all names of its module.
        """
        self._alike: dict[int, list[Any]] = {}
        """Classes by ``id``, each with a weak reference and how many of its objects were one."""
        self._measured_by = size_of
        self.renew()

    def renew(self) -> None:
        """Count in this process's own memory; private memory where there is no recorder."""
        # Not by an import: the program may have put another ``__import__`` in place by now.
        shared = sys.modules[__package__].cell(self.name)
        self.cell: Any = memoryview(bytearray(8)).cast("q") if shared is None else shared

    def add(self, number: int) -> None:
        """Count so many more."""
        self.cell[0] += number

    def size_of(self, owner: Any) -> int:
        """Return what a call of ``owner`` counts for."""
        size = self.sizes.get(id(owner))
        return self.measure(owner) if size is None else size

    def measure(self, owner: Any) -> int:
        """The same for one that is new; kept in ``sizes``, for it does not change."""
        of_class = self._of_classes.get(id(type(owner)))
        if of_class is not None and of_class[1]() is type(owner):
            return of_class[0]
        try:
            size = 1 if self._measured_by is None else max(0, int(self._measured_by(owner)))
        except Exception as error:
            foreign_errors.pass_on(error)
            # Not the program's business. An environment that cannot say how many it is, is one.
            size = 1
        if size > MOST_AT_ONCE:
            size = 1
        # Also what could not be measured: it would be asked, and fail, at each of its steps.
        self._keep(owner, size)
        return size

    def _keep(self, owner: Any, size: int) -> None:
        number = id(owner)
        try:
            # In C: Python runs signal handlers in a callback of its own, and swallows what they raise.
            kept = ref(owner, partial(self.sizes.pop, number))
        except TypeError:
            # Cannot be watched, so its number may be another's tomorrow.
            self._note_class(type(owner), size)
            return
        if len(self._kept) > 2 * len(self.sizes) + _FEW:
            self._kept = {each: self._kept.get(each) for each in list(self.sizes)}
        self._kept[number] = kept
        self.sizes[number] = size
        if size == 1:
            self._note_alike(type(owner))

    def _note_alike(self, kind: type) -> None:
        """Ask no more objects of a class of which many have been one: a search makes an environment for each of its nodes."""
        known = self._alike.get(id(kind))
        if known is None or known[0]() is not kind:
            if len(self._alike) > _FEW:
                self._alike.clear()
            known = self._alike[id(kind)] = [ref(kind), 0]
        known[1] += 1
        if known[1] > _MANY:
            self._note_class(kind, 1)

    def _note_class(self, kind: type, size: int) -> None:
        number = id(kind)
        self._of_classes[number] = size, ref(kind, partial(self._of_classes.pop, number))

    def __reduce__(self) -> Any:
        """Hooks of torch's go along where a program's class of optimizers is pickled by value; there they count for nobody."""
        from types import SimpleNamespace

        return SimpleNamespace, (), {"cell": [0]}


def counter(name: str, size_of: Optional[SizeOf] = None) -> EventCounter:
    """The counter ``name``. ``size_of(object)`` says what a call of that object's method counts
    for: an environment's number of copies, for instance.
    """
    found = _counters.get(name)
    if found is None:
        found = _counters[name] = EventCounter(name, size_of)
    return found


def counted(name: str) -> int:
    """Return how much of ``name`` this process has counted, by :func:`rlprof.step` too, which has no counter here."""
    found = _counters.get(name)
    if found is not None:
        return int(found.cell[0])
    cell = sys.modules[__package__].cell(name) if name else None
    return 0 if cell is None else int(cell[0])


def stated(owner: Any, name: str) -> Any:
    """The attribute ``name`` as ``owner`` or its class has it, properties included; None where neither does.

    ``getattr`` would go on to ``__getattr__``, which is the program's: of a proxy it sends a message, and the wrappers
    of gymnasium 0.29 warn.
    """
    if is_metaclass(type(owner)):
        found = in_classes(owner, name)
        return None if found is MISSING else found
    found = kept_as(owner, name)
    return None if found is MISSING else found


def renew() -> None:
    """Count for this process alone: to be called in a forked child."""
    for each in _counters.values():
        each.renew()
