"""The parameters that torch's optimizers move, by identity: nothing of them is kept, and nothing of the program is called."""

from __future__ import annotations

import _weakref

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_MOST = 100_000
"""Identities that are kept, some 10 MB. Past it nothing is known of any parameter."""
_MOST_NOTED = 1_000
"""Optimizers, before those that are gone are dropped."""

_parameters: set[int] = set()
_noted: dict[int, tuple[Any, tuple[int, ...]]] = {}
"""Optimizers by identity, each with a weak reference and the parameters it had in short."""


def note(optimizer: Any) -> None:
    """Take in the parameters of ``optimizer``, which makes a step, where they are new."""
    try:
        # Not through the attribute, which a class of the program's may compute.
        groups = object.__getattribute__(optimizer, "__dict__")["param_groups"]
        lists = [group["params"] for group in groups]
        now = tuple(
            [len(params) for params in lists] + [id(params[0]) for params in lists if params]
        )
        noted = _noted.get(id(optimizer))
        if noted is not None and noted[0]() is optimizer and noted[1] == now:
            return
        if len(_noted) >= _MOST_NOTED:
            for key in [key for key, (reference, _) in _noted.items() if reference() is None]:
                del _noted[key]
        _noted[id(optimizer)] = (_weakref.ref(optimizer), now)
        if len(_parameters) <= _MOST:
            _parameters.update([id(parameter) for params in lists for parameter in params])
    except Exception:
        return  # One of the program's own making, which has none of that.


def are_known() -> bool:
    """Whether an optimizer has stepped, and all that were moved could be kept."""
    return 0 < len(_parameters) <= _MOST


def moves(parameter: Any) -> bool:
    """Whether an optimizer has moved ``parameter``, or another that was in its place."""
    return id(parameter) in _parameters
