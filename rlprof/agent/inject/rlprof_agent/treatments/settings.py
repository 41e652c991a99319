"""Settings of the interpreter and of libraries, changed and put back."""

from __future__ import annotations

from ..plain_reads import classes_of
from ..real import gc
from . import AbsentError, RefusedError, library

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import Asked


class Setting:
    """The setting ``what``."""

    def __init__(self, asked: Asked) -> None:
        self._set, self.take_off = _SETTINGS[asked.part["what"]](asked.part)
        self._reached = asked.reached

    def put_on(self) -> None:
        self._reached[0] += 1
        self._set()


def _collector(_part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Keep the garbage collector from what is there now, and from all else but the youngest."""
    if gc.get_freeze_count():
        raise RefusedError("the program has frozen objects itself")
    thresholds = gc.get_threshold()

    def put_on() -> None:
        nonlocal thresholds
        thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(50_000, 50, 1_000)

    def put_back() -> None:
        gc.set_threshold(*thresholds)
        gc.unfreeze()

    return put_on, put_back


def _torch_threads(part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    torch = library("torch")
    before: int = torch.get_num_threads()

    def put_on() -> None:
        nonlocal before
        before = torch.get_num_threads()
        torch.set_num_threads(part["threads"])

    return put_on, lambda: torch.set_num_threads(before)


def _distribution_checks(_part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    kind = library("torch.distributions.distribution").Distribution
    before = kind._validate_args

    def put_on() -> None:
        nonlocal before
        before = kind._validate_args
        kind.set_default_validate_args(False)

    return put_on, lambda: kind.set_default_validate_args(before)


def _optimizer_flags(part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Set ``fused`` or ``foreach`` in all groups of all optimizers that have it, and whose parameters allow it."""
    kind = library("torch.optim.optimizer").Optimizer
    flag = part["flag"]
    optimizers = [each for each in gc.get_objects() if kind in classes_of(type(each))]
    having = [(each, group) for each in optimizers for group in each.param_groups if flag in group]
    if not having:
        raise AbsentError("no optimizer has " + flag)
    groups = [group for each, group in having if flag != "fused" or _is_fusible(each, group)]
    if not groups:
        raise RefusedError("what its optimizers move cannot be moved in one operation as it is")
    before = [group[flag] for group in groups]

    def put_on() -> None:
        before[:] = [group[flag] for group in groups]
        for group in groups:
            group[flag] = True

    def put_back() -> None:
        for group, value in zip(groups, before):  # noqa: B905 - Python 3.9
            group[flag] = value

    return put_on, put_back


def _is_fusible(optimizer: Any, group: dict[str, Any]) -> bool:
    """Tell whether torch's fused operation takes the parameters and what the optimizer keeps of each."""
    torch = library("torch")
    if group.get("differentiable"):
        return False
    for parameter in group["params"]:
        kept = optimizer.state.get(parameter, {})
        tensors = [each for each in kept.values() if isinstance(each, torch.Tensor)]
        if any(each.device != parameter.device for each in tensors):
            return False  # On a GPU the steps are counted there.
        if parameter.layout != torch.strided or not parameter.is_floating_point():
            return False
    return True


def _torch_switch(part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Set attributes of a module of torch's settings: ``module``, and names and numbers of ``values``, parted by blanks."""
    wanted = [name.split("=") for name in part["values"].split()]
    owners = [(library(name.rpartition(".")[0]), name.rpartition(".")[2]) for name, _ in wanted]
    before = [getattr(owner, name) for owner, name in owners]

    def put_on() -> None:
        before[:] = [getattr(owner, name) for owner, name in owners]
        for (owner, name), (_, value) in zip(owners, wanted):  # noqa: B905 - Python 3.9
            setattr(owner, name, bool(int(value)))

    def put_back() -> None:
        for (owner, name), value in zip(owners, before):  # noqa: B905 - Python 3.9
            setattr(owner, name, value)

    return put_on, put_back


def _anomaly_mode(_part: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Look for no errors of autograd's."""
    torch = library("torch")
    before = False, True

    def put_on() -> None:
        nonlocal before
        before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        torch.autograd.set_detect_anomaly(False)

    return put_on, lambda: torch.autograd.set_detect_anomaly(*before)


_SETTINGS: dict[str, Any] = {
    "collector": _collector,
    "torch-threads": _torch_threads,
    "distribution-checks": _distribution_checks,
    "optimizer-flags": _optimizer_flags,
    "torch-switch": _torch_switch,
    "anomaly-mode": _anomaly_mode,
}
