"""Counters of this process: memory shared with the recorder, renewed in a forked child."""

from __future__ import annotations

import sys

# The C module, without stubs: ``functools`` would pull in collections.
from _functools import partial  # type: ignore[import-not-found]
from _thread import get_ident
from _weakref import ref
from sys import _getframe

from . import foreign_errors
from .layout import COUNTED_FILE
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
_MOST_CALLERS = 64
"""Of one function, that are told from each other."""
_MOST_AWAITING = 64
"""Frames above an awaited call that are looked through."""
_CO_COROUTINE = 128

FIRST_THREAD = get_ident()
TAKES_TURNS = [FIRST_THREAD]
"""The thread of which stacks are taken; 0 while there is none. Others have no turns, so that their calls tell themselves how many there were."""
_counters: dict[str, EventCounter] = {}


WINDOW_TURNS = 200
"""Turns of the first thread after which it is told."""
_FEW_OF_THREADS = 0.01
"""Part of the calls, made by other threads, up to which the first one's turns do not heed them: a thread that shows the policy twenty times a second had each
call looked at, and took an eighth of the first one's time for good."""


class EventCounter:
    """Events of one name, counted by ``counter.cell[0] += n`` or through ``counted.calls``."""

    __slots__ = (
        "_alike",
        "_codes",
        "_kept",
        "_measured_by",
        "_of_classes",
        "calls",
        "cell",
        "held",
        "in_thread",
        "inner",
        "is_elsewhere",
        "left",
        "name",
        "on_first",
        "others",
        "owner",
        "sizes",
    )

    def __init__(self, name: str, size_of: Optional[SizeOf]) -> None:
        self.name = name
        self.owner = 0
        """The thread that is inside a counted call; 0 for none."""
        self.others: set[int] = set()
        """Further threads that are."""
        self.held: set[int] = set()
        """Threads whose calls do not count: they are made by calls that another counter counts."""
        self.inner: Any = None
        """``held`` of the counter that leaves out what these calls make; to be set before methods are counted."""
        self.is_elsewhere = False
        """True if objects are called in other threads than the first, of which nobody takes stacks."""
        self.calls = [0]
        """All calls, with those inside of others."""
        self.left = [0]
        """Outermost calls in threads without turns until ``in_thread`` is called with the thread."""
        self.in_thread: Callable[[int], Any] = callable
        """By default nothing: ``callable`` takes anything and never raises."""
        self.sizes: dict[int, int] = {}
        """Amount that one call of an object counts for, by its ``id``, while it lives."""
        self.on_first: Optional[Callable[[], None]] = None
        """Called with the first count of each object."""
        self._kept: dict[int, Any] = {}
        """Weak references by ``id`` of what has a size, and some of what is gone."""
        self._of_classes: dict[int, tuple[int, Any]] = {}
        """The same for all objects of a class that cannot be watched, as one with slots; by its ``id``, for the program may have
        classes that cannot be hashed. With a weak reference: a class holds all names of its module.
        """
        self._alike: dict[int, list[Any]] = {}
        """Classes by ``id``, each with a weak reference and how many of its objects were one."""
        self._codes: list[Any] = []
        """Those of callers, so that their numbers are nobody else's."""
        self._measured_by = size_of
        self.renew()

    def renew(self) -> None:
        """Count in this process's own memory; private memory where there is no recorder."""
        # Not by an import: the program may have put another ``__import__`` in place by now.
        shared = sys.modules[__package__].cell(self.name)
        self.cell: Any = memoryview(bytearray(8)).cast("q") if shared is None else shared
        # Threads of the parent do not live on in a child, and their numbers are given anew.
        self.others.intersection_update([get_ident()])
        self.held.intersection_update([get_ident()])
        if self.owner != get_ident():
            self.owner = 0

    def add(self, number: int, more: int) -> None:
        """Count so many calls that were made without us, each for one, and ``more`` for those of several."""
        steps = number + more
        self.cell[0] += steps
        self.calls[0] += number
        thread = get_ident()
        if thread != TAKES_TURNS[0]:
            self.left[0] -= number
            if self.left[0] < 0:
                self.in_thread(thread)

    def note(self, seen: tuple[dict[int, list[int]], int]) -> None:
        """Count who calls the counted function that calls this, in ``callers``: for an outermost call (0), or another (1)."""
        callers, kind = seen
        code = _calling()
        each = callers.get(id(code))
        if each is None:
            if len(callers) >= _MOST_CALLERS:
                return
            self._codes.append(code)
            each = callers[id(code)] = [0, 0]
        each[kind] += 1

    def is_outermost(self, callers: dict[int, list[int]]) -> bool:
        """Tell whether the counted function that calls this is called by one of ``callers`` whose calls were the outermost. The first call by one
        that is not known has all looked at anew.
        """
        each = callers.get(id(_calling()))
        if each is None:
            self.in_thread(0)
            return False
        return each[0] > each[1]

    def is_inside(self, thread: int) -> bool:
        """Tell whether the awaited call that calls this is made within another one: of this thread, or of a coroutine that awaits it."""
        if self.owner == thread or thread in self.others or thread in self.held:
            return True
        frame: Any = _getframe(1).f_back
        for _ in range(_MOST_AWAITING):
            if frame is None:
                return False
            code = frame.f_code
            if code.co_flags & _CO_COROUTINE and code.co_filename == COUNTED_FILE:
                return True
            frame = frame.f_back
        return False

    def size_of(self, owner: Any) -> int:
        """Return what a call of ``owner`` counts for."""
        size = self.sizes.get(id(owner))
        return self.measure(owner) if size is None else size

    def measure(self, owner: Any) -> int:
        """The same for one that is new; kept in ``sizes``, for it does not change."""
        of_class = self._of_classes.get(id(type(owner)))
        if of_class is not None and of_class[1]() is type(owner):
            return of_class[0]
        self.is_elsewhere |= get_ident() != FIRST_THREAD
        try:
            if self.on_first is not None:
                self.on_first()
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
        """Pickle into standard types that count for nobody: a copy may go to an interpreter
        without an agent, and its steps count where they were asked for.
        """
        from types import SimpleNamespace

        return (
            SimpleNamespace,
            (),
            {
                "cell": [0],
                "calls": [0],
                "left": [0],
                "owner": 0,
                "add": max,
                "in_thread": callable,
                "measure": callable,
                "note": callable,
                "is_outermost": callable,
                "is_inside": callable,
                "size_of": callable,
            },
        )


def _calling() -> Any:
    """The code of the program's that has called what counts."""
    frame: Any = _getframe(1).f_back
    while frame is not None and frame.f_code.co_filename == COUNTED_FILE:
        frame = frame.f_back
    return None if frame is None else frame.f_code


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
        return so_far(found)
    cell = sys.modules[__package__].cell(name) if name else None
    return 0 if cell is None else int(cell[0])


def so_far(counter: Any) -> int:
    """Return what is in a counter, with what an evaluation has counted apart since it began."""
    cell = counter.cell
    own: Any = getattr(cell, "so_far", None)
    return int(cell[0] if own is None else own())


def counters_of(kind: str) -> list[EventCounter]:
    """Those there are by now whose names begin with ``kind``."""
    return [each for name, each in list(_counters.items()) if name.startswith(kind)]


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


class ThreadShare:
    """Share of the counted calls that other threads make than the first, whose turns tell of its own alone; told from what they count down
    (``EventCounter.left``).
    """

    def __init__(self, counter: EventCounter, calls: list[int]) -> None:
        self._counter, self._calls = counter, calls
        self._left = 0
        """Count that their calls go down from, at the last turn, or when it was last set."""
        self._turns, self._theirs, self._before = 0, 0, 0
        """Turns of this window, calls of other threads in them, and all calls before it."""
        self._are_few = False

    @property
    def is_heeded(self) -> bool:
        """True if other threads make more than a few of the calls, as far as is known."""
        return bool(self._counter.is_elsewhere and not self._are_few)

    def leave(self, calls: int) -> None:
        """Have so many calls of theirs made until they tell of them."""
        self._theirs += max(0, self._left - self._counter.left[0])
        self._counter.left[0] = self._left = calls

    def turn(self) -> None:
        """A turn has ended. Of none in a window it is taken that there will be none."""
        self.leave(self._counter.left[0])
        if not self._turns:
            self._before = self._calls[0]
        self._turns += 1
        if self._turns < WINDOW_TURNS:
            return
        self._are_few = 0 < self._theirs <= _FEW_OF_THREADS * (self._calls[0] - self._before)
        self._counter.is_elsewhere = self._theirs > 0
        self._turns = self._theirs = 0
