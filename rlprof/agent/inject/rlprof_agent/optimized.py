"""The parameters that torch's optimizers move, by identity: nothing of them is kept, and nothing of the program is called."""

from __future__ import annotations

import _weakref
from _functools import partial  # type: ignore[import-not-found]  # Without stubs.

from . import foreign_errors
from .plain_reads import MISSING, in_classes, own_attribute

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

_MOST = 100_000
"""Identities that are kept, some 10 MB. Past it nothing is known of any parameter."""
_parameters: set[int] = set()


class _Noted(dict):  # type: ignore[type-arg]  # Python 3.9 has no arguments for it here.
    """Optimizers by identity, each with a weak reference and the parameters that it had, in short; those that are gone are not in it.

    It stands in a hook of torch's, which cloudpickle may send elsewhere: there it is empty.
    """

    def __reduce__(self) -> Any:
        return dict, ()


noted = _Noted()

_unknown = [False]
"""True if an optimizer keeps its parameters in a way of its own."""


def note(optimizer: Any) -> None:
    """Take in the parameters of ``optimizer``, which makes a step, where they are new."""
    groups = own_attribute(optimizer, "param_groups")
    is_computed = in_classes(type(optimizer), "param_groups") is not MISSING
    lists = None if is_computed else _lists_of(groups)
    if lists is None:
        _unknown[0] = True
        return
    # Not ``params[0]``: another thread may empty a list meanwhile.
    firsts = [id(each) for params in lists for each in params[:1]]
    now = tuple([len(params) for params in lists] + firsts)
    before = noted.get(id(optimizer))
    if before is not None and before[0]() is optimizer and before[1] == now:
        return
    try:
        # Called at its end by C code alone, which leaves no frame.
        reference = _weakref.ref(optimizer, partial(noted.pop, id(optimizer)))
    except TypeError as error:
        if foreign_errors.trim(error):
            raise
        _unknown[0] = True  # It is no optimizer of torch's, though it steps as one.
        return
    noted[id(optimizer)] = (reference, now)
    if len(_parameters) <= _MOST:
        _parameters.update([id(parameter) for params in lists for parameter in params])


def _lists_of(groups: Any) -> Optional[list[list[Any]]]:
    """The parameters of each group, as torch keeps them; None where the program has containers of its own there."""
    if type(groups) is not list or not all(type(group) is dict for group in groups):
        return None
    lists = [group.get("params") for group in groups]
    return lists if all(type(params) is list for params in lists) else None


def settings_of(optimizer: Any) -> list[str]:
    """Tell which settings that decide how it steps one of its groups has on, or not zero."""
    groups = own_attribute(optimizer, "param_groups")
    is_computed = in_classes(type(optimizer), "param_groups") is not MISSING
    if is_computed or _lists_of(groups) is None:
        return []
    return [
        "%s=%d" % (name, any(_is_on(group.get(name)) for group in groups))
        for name in ("momentum", "differentiable")
        if any(name in group for group in groups)
    ]


def _is_on(setting: Any) -> bool:
    # Of anything else the program may say what it means: a tensor is asked nothing here.
    return bool(setting) if type(setting) in (int, float, bool) else setting is not None


def are_known() -> bool:
    """Tell whether an optimizer has stepped, and all that were moved could be kept."""
    return 0 < len(_parameters) <= _MOST and not _unknown[0]


def moves(parameter: Any) -> bool:
    """Tell whether an optimizer has moved ``parameter``, or another that was in its place."""
    return id(parameter) in _parameters
