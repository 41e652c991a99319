"""Count the calls of a method in a class, in all its subclasses, and in those yet to be defined."""

from __future__ import annotations

import sys

# The C module, without stubs, as in ``counters``.
from _functools import partial  # type: ignore[import-not-found]
from types import FunctionType, MethodDescriptorType, WrapperDescriptorType
from weakref import ref

from .. import foreign_errors
from ..plain_reads import names_of
from . import direct
from .calls import (
    cost_of_a_call,
    counting,
    counting_in_brief,
    given_back,
    handed_on,
    is_of_a_module,
    put_in_class,
)
from .dressing import OF_ERRORS, counter_of, is_counting, of_counting, original_of
from .in_threads import ThreadTurns
from .part_time import AWAY, BRIEF, DIRECT, LOOKS, PartTime, enrol

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Callable, Optional

    from ..counters import EventCounter

_HOOK = "__init_subclass__"

_CO_GENERATORS, _CO_COROUTINE = 32 | 512, 128

_PLAIN = (FunctionType, MethodDescriptorType, WrapperDescriptorType)
_MOST_TOLD = 256
"""Codes of methods of which it is kept what looks have told."""
_COMPILED = ("cython_function_or_method", "instancemethod", "nb_func", "nb_method")
"""Names of types of functions that Cython, pybind11 and nanobind make."""


class CountedMethods:
    """The methods ``names`` of ``base`` and of its subclasses, counted by ``counter``.

    Each class's own definition is replaced, so that ``super().step()`` and calls by way of the
    class count as well; the outermost call alone does.
    """

    def __init__(self, base: type, names: Iterable[str], counter: EventCounter) -> None:
        self._base = base
        self._names = tuple(names)
        self._counter = counter
        self._classes: dict[int, Any] = {}
        """Weak references by ``id``: a program may make a class for each of its levels, with what it closes over. No ``WeakSet``, whose
        functions torch.compile would come across where compiled code is interrupted.
        """
        self._hooked: Any = (None, None)
        self._turns: Optional[PartTime] = None
        self._way = LOOKS
        self._looking: list[Any] = []
        """Weak references to functions that look at each call: those that classes have, and those that the program holds on to."""
        self._made: dict[Any, dict[int, Any]] = {}
        """Functions that count in the place of a method, by the way."""
        self._cells: dict[Any, Any] = {}
        self._gone: list[Any] = []
        """Cells of what counts directly, by weak references, and those of them whose functions have gone with their classes."""
        self._told: dict[Any, Any] = {}
        """What looks have told of the last function of each code: a program may make a class anew for each of its environments."""

    def install(self) -> None:
        for each in _with_subclasses(self._base):
            self._count_in(each)
        self._watch_subclasses()

    def take_turns(self) -> None:
        """Count a part of the time only, where all would cost too much."""
        counter = self._counter
        self._turns = PartTime(counter, counter.calls, cost_of_a_call(counter, counter.calls))
        self._turns.may_rest = True
        self._turns.parts.append(self)
        enrol(self._turns)
        ThreadTurns(self._turns, counter)

    def put(self, way: int) -> None:
        """Count in one of the ways of ``part_time``."""
        self._add_of_the_gone()
        # First: what is made for an original takes on the attributes that this has by then.
        for _, _, ours in self._in_classes():
            given_back(ours)
        for looking in self._all_looking():
            direct.add_what_is_left(looking, self._counter)
            original = original_of(looking)
            if way == DIRECT:
                self._put_directly(looking)
            elif way == LOOKS:
                direct.put_looking(looking)
            else:
                direct.put_aside(looking, original if way == AWAY else self._made_of(original, way))
        known = {id(original_of(looking)) for looking in self._all_looking()}
        for owner in self._living():
            self._put_in(owner, way, known)
        self._way = way
        for original in list(self._made):
            # A script that is run again has another one now, and all of its first run would be held by this.
            if not is_of_a_module(original):
                self._made.pop(original, None)

    def is_clear(self) -> bool:
        """Tell whether it is known of each call, by now, whether it is a step."""
        are_clear = [direct.is_clear(looking) for looking in self._all_looking()]
        return all(are_clear)

    def heeding(self) -> float:
        """Part of the calls that ask for who calls where they are counted directly."""
        told = [direct.heeded(looking) for looking in self._all_looking()]
        return sum(asking for asking, _ in told) / max(1, sum(calls for _, calls in told))

    def forget_what_is_left(self) -> None:
        """In a forked child: what the parent had counted, and not added yet, is the parent's."""
        for looking in self._all_looking():
            direct.forget_what_is_left(looking)
        for gone in self._gone:
            self._cells.pop(gone)
        self._gone.clear()

    def let_go(self) -> None:
        """Tell what was counted, and hold no function of the program's any more: each has all of its module."""
        self._add_of_the_gone()
        for looking in self._all_looking():
            direct.add_what_is_left(looking, self._counter)
        self._made.clear()
        self._told.clear()

    def _in_classes(self) -> list[tuple[type, str, Any]]:
        """(class, name, function) of all that counts for this in the place of a method."""
        return [
            (owner, name, ours)
            for owner in self._living()
            for name in self._names
            if (ours := names_of(owner).get(name)) is not None
            and is_counting(ours)
            and counter_of(ours) is self._counter
        ]

    def _put_in(self, owner: type, way: int, known: set[int]) -> None:
        """``known`` are the numbers of functions that are counted by now."""
        for name in self._names:
            now = names_of(owner).get(name)
            if not is_method(now) or _flags(now) & _CO_COROUTINE:
                continue
            is_ours = is_counting(now)
            if is_ours and counter_of(now) is not self._counter:
                continue
            wanted = original_of(now) if is_ours else now
            if not is_ours and self._way != AWAY and id(now) not in known:
                # The program has put another there, which may call the one before.
                self._told.clear()
                for looking in self._all_looking():
                    direct.forget(looking)
            looking = direct.looking_behind(now)
            if looking is not None:
                # It comes back, with what it has told.
                self._made.setdefault(wanted, {}).setdefault(LOOKS, looking)
            if way == DIRECT and is_ours:
                wanted = direct.in_place(now)
            elif way in (BRIEF, LOOKS):
                wanted = handed_on(wanted, self._made_of(wanted, way))
            put_in_class(owner, name, wanted)

    def _looking_at(self, original: Any) -> Any:
        """Make what looks at each call of ``original``; it knows what others of its code have told."""
        looking = counting(original, self._counter)
        self._looking.append(ref(looking))
        code = getattr(original, "__code__", None)
        if code is not None:
            told = direct.told_by(looking, self._told.get(code))
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            self._told[code] = told
        return looking

    def _put_directly(self, looking: Any) -> None:
        direct.put_directly(looking, self._counter)
        if (found := direct.cells_of(looking)) is not None:
            directly, *cells = found
            kept = ref(directly, self._gone.append)
            if kept not in self._cells:
                self._cells[kept] = cells

    def _add_of_the_gone(self) -> None:
        """Add what was counted directly, and not told yet, in classes that the program has let go of."""
        while self._gone:
            try:
                cells = self._cells.pop(self._gone.pop())
            except (IndexError, KeyError):
                return  # Another thread does.
            self._counter.add(*direct.taken_out_of(*cells))

    def _all_looking(self) -> list[Any]:
        found = [looking for each in self._looking if (looking := each()) is not None]
        self._looking = [ref(looking) for looking in found]
        return found

    def _made_of(self, original: Any, way: int) -> Any:
        """Return what counts in its place; made once for functions of a module, and kept as long as that is there."""
        made = self._made.get(original, {})
        if way not in made:
            counter = self._counter
            made[way] = (
                self._looking_at(original)
                if way == LOOKS
                else counting_in_brief(original, counter, counter.calls)
            )
            if is_of_a_module(original):
                self._made[original] = made
        return made[way]

    def remove(self) -> None:
        """Give every class its own methods back, where nobody has replaced ours."""
        for owner, name, ours in self._in_classes():
            put_in_class(owner, name, given_back(ours))
        self._classes.clear()
        if self._turns is not None:
            self._turns.leave()
        hook, original = self._hooked
        if names_of(self._base).get(_HOOK) is hook:
            if original is None:
                delattr(self._base, _HOOK)
            else:
                put_in_class(self._base, _HOOK, original)

    def _count_in(self, owner: type) -> None:
        for name in self._names:
            original: Any = names_of(owner).get(name)
            if not is_method(original):
                continue
            if is_counting(original):
                if counter_of(original) is self._counter:
                    self._keep(owner)  # Made of another one, as dataclasses with slots are.
                    continue
                # A library whose vector environments are environments: as such they count more.
                original = original_of(original)
            try:
                put_in_class(owner, name, self._of_new(original))
            except TypeError:
                return  # A class of an extension module, whose attributes are fixed.
            self._keep(owner)

    def _of_new(self, original: Any) -> Any:
        """Return what is to stand in a new class: it is counted as others are at this moment, for it may be one of many that are made anew."""
        if self._way in (AWAY, BRIEF) and not _flags(original) & _CO_COROUTINE:
            return original if self._way == AWAY else self._made_of(original, BRIEF)
        looking = self._looking_at(original)
        if self._way == DIRECT:
            self._add_of_the_gone()
            self._put_directly(looking)
        return direct.in_place(looking)

    def _keep(self, owner: type) -> None:
        # In C, as in ``EventCounter``.
        self._classes[id(owner)] = ref(owner, partial(self._classes.pop, id(owner)))

    def _living(self) -> list[type]:
        owners = [kept() for kept in list(self._classes.values())]
        return [owner for owner in owners if owner is not None]

    def _watch_subclasses(self) -> None:
        original = names_of(self._base).get(_HOOK)
        hook: Any = classmethod(_hook(self._base, original, _CountsIn(self._count_in)))
        try:
            put_in_class(self._base, _HOOK, hook)
        except TypeError:
            return  # As above.
        self._hooked = hook, original


def _hook(base: Any, original: Any, count_in: _CountsIn) -> Any:
    """The function of ``__init_subclass__`` for ``base``.

    It needs no names of this module, nor of a class of ours: a program may pickle its class by value, and load it where rlprof is not.
    """
    read, has, parent = type.__getattribute__, getattr, super
    failure, with_traceback = OF_ERRORS

    # The name is Python's own; it stands outside of a class here since it is set on one later.
    def __init_subclass__(cls: type[Any], /, **kwargs: Any) -> None:  # noqa: N807 - set on a class later
        try:
            if original is None:
                # Also in a class that somebody has made of what stands in ``base``. The last of them, for ``super`` leads from one to the next.
                holder = base
                for each in read(cls, "__mro__"):
                    there = read(each, "__dict__").get("__init_subclass__")
                    if has(there, "__func__", None) is __init_subclass__:
                        holder = each
                parent(holder, cls).__init_subclass__(**kwargs)
            else:
                original.__get__(None, cls)(**kwargs)
        except failure as error:
            with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        count_in(cls)

    __init_subclass__ = FunctionType(
        of_counting(__init_subclass__.__code__),
        getattr(sys.modules.get(base.__module__), "__dict__", __init_subclass__.__globals__),
        closure=__init_subclass__.__closure__,
    )
    return __init_subclass__


class _CountsIn:
    """The part of the hook that counts in a new class. Pickled with it, it does nothing: a copy counts for nobody."""

    __slots__ = ("_act",)

    def __init__(self, act: Callable[[type], None]) -> None:
        self._act = act

    def __call__(self, owner: type) -> None:
        try:
            self._act(owner)
        except Exception as error:
            # A class that cannot be changed is not counted.
            foreign_errors.pass_on(error)

    def __reduce__(self) -> Any:
        return getattr, (callable, "__call__")


def _flags(function: Any) -> int:
    flags: int = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return flags


def is_method(candidate: Any) -> bool:
    """Tell whether it is a function with a body. What a decorator made of one may do anything when it is bound, and
    have attributes of its own: it is left as it is, and what is around it counts.
    """
    kind = type(candidate)
    if not issubclass(kind, _PLAIN) and kind.__name__ not in _COMPILED:
        return False
    if _flags(candidate) & _CO_GENERATORS:
        return False  # What it is called for comes later.
    return not getattr(candidate, "__isabstractmethod__", False)


def _with_subclasses(base: type) -> list[type]:
    found = [base]
    for each in found:
        subclasses: list[type] = type.__subclasses__(each)
        found += [subclass for subclass in subclasses if subclass not in found]
    return found
