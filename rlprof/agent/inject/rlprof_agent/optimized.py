"""Which parameters torch's optimizers move, by identity: nothing of them is kept."""

from __future__ import annotations

import _weakref

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_MOST = 100_000
"""Identities that are kept, some 10 MB."""

_parameters: set[int] = set()
_noted: dict[int, tuple[Any, int]] = {}
"""Optimizers by identity, each with a weak reference and the number of its groups."""


def note(optimizer: Any) -> None:
    """Take in the parameters of ``optimizer``, which makes a step, where they are new."""
    noted = _noted.get(id(optimizer))
    try:
        groups = optimizer.param_groups
        if noted is not None and noted[0]() is optimizer and noted[1] == len(groups):
            return
        moved = [id(parameter) for group in groups for parameter in group["params"]]
        if len(_parameters) + len(moved) > _MOST:
            _parameters.clear()
            _noted.clear()
        _parameters.update(moved)
        _noted[id(optimizer)] = (_weakref.ref(optimizer), len(groups))
    except Exception:
        return  # One of the program's own making, which has none of that.


def any_has_stepped() -> bool:
    return bool(_parameters)


def moves(parameter: Any) -> bool:
    """Whether an optimizer has moved ``parameter``, or another that was in its place."""
    return id(parameter) in _parameters
