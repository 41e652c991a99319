"""Settings of the interpreter and of libraries, changed and put back."""

from __future__ import annotations

from ..real import gc
from . import RefusedError, library

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import AskedPart

_SELDOM = 50_000, 50, 1_000
_CHECKS_SETTER = "set_default_validate_args"
_FROZEN_BY_PYTHON = 2_000
"""Python 3.12 begins with 375 objects frozen; a program freezes what it has imported, which is more."""


class Setting:
    """The setting ``what``."""

    def __init__(self, asked: AskedPart) -> None:
        self._set, self.take_off = _SETTINGS[asked.part["what"]](asked.part)
        self._reached = asked.reached

    def put_on(self) -> None:
        self._reached[0] += 1
        self._set()


def _collector(_part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Keep the garbage collector from what is there now, and from all else but the youngest."""
    if gc.get_freeze_count() > _FROZEN_BY_PYTHON:
        raise RefusedError(
            "the program has frozen objects itself, and they could not be told apart"
        )
    thresholds, frozen = gc.get_threshold(), 0

    def put_on() -> None:
        nonlocal thresholds, frozen
        thresholds = gc.get_threshold()
        gc.freeze()
        frozen = gc.get_freeze_count()
        gc.set_threshold(*_SELDOM)

    def put_back() -> None:
        # Not where the program has set others meanwhile.
        if gc.get_threshold() == _SELDOM:
            gc.set_threshold(*thresholds)
        if gc.get_freeze_count() <= frozen:
            gc.unfreeze()  # More are frozen where the program has done so, too.

    return put_on, put_back


def _torch_threads(part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    torch = library("torch")
    before: int = torch.get_num_threads()

    def put_on() -> None:
        nonlocal before
        before = torch.get_num_threads()
        torch.set_num_threads(part["threads"])

    def put_back() -> None:
        # Not where the program has set another number meanwhile.
        if torch.get_num_threads() == part["threads"]:
            torch.set_num_threads(before)

    return put_on, put_back


def _distribution_checks(_part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Leave the checks out, whatever the program sets by default meanwhile: it has that at the end."""
    kind = library("torch.distributions.distribution").Distribution
    own = vars(kind)[_CHECKS_SETTER]
    wanted = [kind._validate_args]

    def set_default(value: bool) -> None:
        if value not in (True, False):
            raise ValueError
        wanted[0] = value

    stand_in = staticmethod(set_default)

    def put_on() -> None:
        wanted[0] = kind._validate_args
        setattr(kind, _CHECKS_SETTER, stand_in)
        kind._validate_args = False

    def put_back() -> None:
        # Not where the program has set others meanwhile.
        if vars(kind)[_CHECKS_SETTER] is stand_in:
            setattr(kind, _CHECKS_SETTER, own)
        if kind._validate_args is False:
            kind._validate_args = wanted[0]

    return put_on, put_back


def _torch_switch(part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Set switches of torch's: ``values`` has names and what they are to be (0, 1, or ``other`` than now), parted by blanks."""
    asked = [name.split("=") for name in part["values"].split()]
    owners = [_owner_and_name(name) for name, _ in asked]
    before = [getattr(owner, name) for owner, name in owners]
    wanted = [
        not now if value == "other" else bool(int(value))
        for now, (_, value) in zip(before, asked)  # noqa: B905 - Python 3.9
    ]
    if before == wanted:
        raise RefusedError("the program has it so already")

    def put_on() -> None:
        before[:] = [getattr(owner, name) for owner, name in owners]
        for (owner, name), value in zip(owners, wanted):  # noqa: B905 - Python 3.9
            setattr(owner, name, value)

    def put_back() -> None:
        for (owner, name), value, ours in zip(owners, before, wanted):  # noqa: B905 - Python 3.9
            # Not where the program has set another value meanwhile.
            if getattr(owner, name) == ours:
                setattr(owner, name, value)

    return put_on, put_back


def _owner_and_name(path: str) -> tuple[Any, str]:
    """The object whose attribute a path names, and its name there: not all of these are modules."""
    first, *middle, name = path.split(".")
    owner = library(first)
    for attribute in middle:
        owner = getattr(owner, attribute)
    return owner, name


def _anomaly_mode(_part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Look for no errors of autograd's, whatever the program switches on or off meanwhile: it is asked for anew in each ``with``."""
    torch = library("torch")
    wanted = [False, True]

    def switched(mode: bool, check_nan: bool = True) -> None:
        wanted[:] = [mode, check_nan]

    stand_ins: dict[str, Any] = {
        "set_anomaly_enabled": switched,
        "is_anomaly_enabled": lambda: wanted[0],
        "is_anomaly_check_nan_enabled": lambda: wanted[1],
    }
    originals = {name: getattr(torch, name) for name in stand_ins}
    switch, is_on, looks_for_nan = originals.values()

    def put_on() -> None:
        wanted[:] = [is_on(), looks_for_nan()]
        for name, stand_in in stand_ins.items():
            setattr(torch, name, stand_in)
        switch(False)

    def put_back() -> None:
        for name, original in originals.items():
            setattr(torch, name, original)
        switch(*wanted)

    return put_on, put_back


_SETTINGS: dict[str, Any] = {
    "collector": _collector,
    "torch-threads": _torch_threads,
    "distribution-checks": _distribution_checks,
    "torch-switch": _torch_switch,
    "anomaly-mode": _anomaly_mode,
}
