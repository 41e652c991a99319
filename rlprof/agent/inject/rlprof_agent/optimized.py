"""The parameters that torch's optimizers move, by identity: nothing of them is kept, and nothing of the program is called."""

from __future__ import annotations

import _weakref

from . import foreign_errors
from .plain_reads import MISSING, in_classes, own_attribute

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

_MOST = 100_000
"""Identities that are kept, some 10 MB. Past it nothing is known of any parameter."""
_MOST_NOTED = 1_000
"""Optimizers, before those that are gone are dropped."""

_SELDOM = 17
"""Of so many steps one looks again at the lists of an optimizer that has as many groups as before: it takes 1.5 µs, and they rarely change."""

_steps = [0]
_parameters: set[int] = set()
_noted: dict[int, tuple[Any, tuple[int, ...], int]] = {}
"""Optimizers by identity, each with a weak reference, the parameters it had in short, and how many groups of them."""

_unknown = [False]
"""True if an optimizer keeps its parameters in a way of its own."""


def note(optimizer: Any) -> None:
    """Take in the parameters of ``optimizer``, which makes a step, where they are new."""
    _steps[0] += 1
    noted = _noted.get(id(optimizer))
    is_known = noted is not None and noted[0]() is optimizer
    groups = own_attribute(optimizer, "param_groups")
    has_as_many = type(groups) is list and noted is not None and len(groups) == noted[2]
    if is_known and has_as_many and _steps[0] % _SELDOM:
        return
    is_computed = in_classes(type(optimizer), "param_groups") is not MISSING
    lists = None if is_computed else _lists_of(groups)
    if lists is None:
        _unknown[0] = True
        return
    # Not ``params[0]``: another thread may empty a list meanwhile.
    firsts = [id(each) for params in lists for each in params[:1]]
    now = tuple([len(params) for params in lists] + firsts)
    if noted is not None and is_known and noted[1] == now:
        return
    if len(_noted) >= _MOST_NOTED:
        # Other threads step optimizers, too.
        for key, (reference, *_) in list(_noted.items()):
            if reference() is None:
                _noted.pop(key, None)
    try:
        reference = _weakref.ref(optimizer)
    except TypeError as error:
        if foreign_errors.trim(error):
            raise
        _unknown[0] = True  # It is no optimizer of torch's, though it steps as one.
        return
    _noted[id(optimizer)] = (reference, now, len(lists))
    if len(_parameters) <= _MOST:
        _parameters.update([id(parameter) for params in lists for parameter in params])


def _lists_of(groups: Any) -> Optional[list[list[Any]]]:
    """The parameters of each group, as torch keeps them; None where the program has containers of its own there."""
    if type(groups) is not list or not all(type(group) is dict for group in groups):
        return None
    lists = [group.get("params") for group in groups]
    return lists if all(type(params) is list for params in lists) else None


def are_known() -> bool:
    """Tell whether an optimizer has stepped, and all that were moved could be kept."""
    return 0 < len(_parameters) <= _MOST and not _unknown[0]


def moves(parameter: Any) -> bool:
    """Tell whether an optimizer has moved ``parameter``, or another that was in its place."""
    return id(parameter) in _parameters
