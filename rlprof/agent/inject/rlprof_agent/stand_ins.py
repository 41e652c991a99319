"""Stand-ins for functions of Python: something of ours happens first, and nobody can tell.

A Python function around another is in every traceback that goes through it, its signature is another,
and a profiler that it switches on sees it return. These are looked through instead.
"""

from __future__ import annotations

from types import FunctionType

from . import aside, foreign_errors

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    Choose = Callable[[], Any]


class StandIn:
    """Looks, pickles and fails like ``real``.

    Python looks ``__call__`` up at each call, and a property answers: when the function that ``choose()``
    gave is running, ``choose`` has returned, and no frame of ours is on the stack.
    """

    __slots__ = ("__weakref__", "_choose", "_real")

    def __init__(self, real: Any, choose: Choose) -> None:
        _set_real(self, real)
        _set_choose(self, choose)

    def _chosen(self) -> Any:
        try:
            return _choose(self)()
        except BaseException as error:
            if foreign_errors.goes_on(error):
                raise
            return _real(self)

    __call__: Any = property(_chosen)

    @classmethod
    def step_aside(cls: Any) -> None:
        """Be looked through by C code alone, where the program has a copy."""
        cls.__call__ = _slots["_real"]

    @classmethod
    def step_back(cls: Any) -> None:
        cls.__call__ = _of_ours

    def __getattribute__(self, name: str) -> Any:
        real = _real(self)
        if name == "__reduce_ex__" and type(real) is FunctionType:
            return lambda _: real.__qualname__  # By its type, pickle saves such a one by name.
        return getattr(real, name)

    def __repr__(self) -> str:
        return repr(_real(self))


class StaysInPlace(StandIn):
    """One by which an instrument is switched off."""

    __slots__ = ()
    __call__: Any = property(StandIn._chosen)


_slots: Any = vars(StandIn)
_of_ours = _slots["__call__"]
_real, _set_real = _slots["_real"].__get__, _slots["_real"].__set__
_choose, _set_choose = _slots["_choose"].__get__, _slots["_choose"].__set__
aside.takes_part(StandIn)


class MethodStandIn(StandIn):
    """``act(object)`` each time that the method ``original`` is looked up of an object."""

    __slots__ = ("_act",)
    __call__: Any = _slots["_real"]

    def __init__(self, original: Any, act: Callable[[Any], None]) -> None:
        StandIn.__init__(self, original, lambda: original)
        _set_act(self, act)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            try:
                _act(self)(instance)
            except BaseException as error:
                if foreign_errors.goes_on(error):
                    raise
        return _real(self).__get__(instance, owner)


_act, _set_act = (getattr(vars(MethodStandIn)["_act"], name) for name in ("__get__", "__set__"))
_doc = property(lambda stand_in: _real(stand_in).__doc__)
for _kind in (StandIn, StaysInPlace, MethodStandIn):
    # ``help`` goes past ``__getattribute__``, to the text of the class: typed as a text, it may be a property as well.
    _kind.__doc__ = _doc  # type: ignore[assignment]


def after(act: Callable[[], Any], real: Any) -> Any:
    """``real``, for choosing, with ``act`` done first."""

    def choose() -> Any:
        act()
        return real

    return choose


def replace(owner: Any, name: str, choose: Choose) -> None:
    """Put a stand-in in the place of the function ``name`` of the module ``owner``."""
    aside.Replaced(owner, name, StandIn(getattr(owner, name), choose))
