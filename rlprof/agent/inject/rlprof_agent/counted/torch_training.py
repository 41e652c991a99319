"""torch: steps of optimizers, which are also the clock of its profiler's windows, and batches."""

from __future__ import annotations

from types import BuiltinFunctionType

from .. import aside, current_agent, dynamo, optimized, torch_windows
from ..counters import counter
from . import torch_syncs
from .class_methods import count_methods
from .dressing import dressed

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import EventCounter

_OURS = "rlprof"
"""Key among hooks, where torch has numbers."""

_asks_whether_captured: list[Any] = []
"""Torch's own question whether the work of this moment goes into a CUDA graph; none without CUDA."""

_SELDOM = 17
"""Of so many steps one is looked at more closely than to count it, which takes 3 to 6 µs: what an optimizer moves rarely changes."""

_captured = [0]
"""Steps of optimizers that have gone into the graph which is captured now, or was last."""


class _ForTheAgent:
    """Acts for the agent in a hook. Pickled with it, as cloudpickle sends a program's own class of optimizers by value, it does nothing:
    where it is loaded there may be no agent.
    """

    __slots__ = ("_act",)

    def __init__(self, act: Any) -> None:
        self._act = act

    def __call__(self, *arguments: Any) -> None:
        self._act(*arguments)

    def __reduce__(self) -> Any:
        from contextlib import nullcontext

        return getattr, (nullcontext(), "__exit__")


class _StepLooks:
    """Looks at steps of optimizers more closely than to count them. An instrument of the program's own would see that."""

    def __init__(self) -> None:
        self.looks: list[_ForTheAgent] = []
        """One, or none while such an instrument is on."""
        self.left = [0]
        """Steps until the next that is looked at, where no window of torch's profiler waits for its time."""
        self.is_clock = [True]
        """True if one may: then each step is."""
        self._look = _ForTheAgent(self._after_step)
        self.step_back()

    def step_aside(self) -> None:
        self.looks.clear()

    def step_back(self) -> None:
        self.looks[:] = [self._look]

    def _after_step(self, optimizer: Any) -> None:
        if self.left[0] <= 0 or id(optimizer) not in optimized.noted:
            self.left[0] = _SELDOM
            optimized.note(optimizer)
        self.is_clock[0] = torch_windows.updated()


def _counter_of_updates() -> EventCounter:
    return counter("updates", _taken_in)


def _taken_in(_graph: Any) -> int:
    """Return the steps in a graph that has just been captured, which each of its replays makes."""
    steps, _captured[0] = _captured[0], 0
    return steps


def count_replays(module: ModuleType) -> None:
    """Count by replays of CUDA graphs in which optimizers were captured: one makes their steps and calls none of them."""
    asks = getattr(module, "_cuda_isCurrentStreamCapturing", None)
    if type(asks) is not BuiltinFunctionType:
        return  # A build without CUDA has a stand-in that fails.
    _asks_whether_captured[:] = [asks]
    count_methods(module.CUDAGraph, ["capture_end", "replay"], _counter_of_updates())


def count_updates(module: ModuleType) -> None:
    """By torch's own hooks for all optimizers; there are none before torch 2.1.

    Not by its functions: each takes a number that the program's next hook would have, which is saved with its module.
    """
    updates = _counter_of_updates()
    stays_here = torch_syncs.stays_here
    asks_whether_captured, captured = _asks_whether_captured, _captured
    step_looks = _StepLooks()
    looks, left, is_clock, noted = (
        step_looks.looks,
        step_looks.left,
        step_looks.is_clock,
        optimized.noted,
    )
    agent = current_agent()
    wants_windows = agent is not None and torch_windows.are_wanted()

    def begin_update(_optimizer: Any, _args: Any, _kwargs: Any) -> None:
        stays_here[0] = True

    def end_update(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        # All here, and in no function: that takes longer, and an instrument of the program's own would see it.
        stays_here[0] = False
        cell = updates.cell
        for asks in asks_whether_captured:
            try:
                if asks():
                    cell = captured
            except RuntimeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    raise  # A signal handler's.
        cell[0] += 1
        left[0] -= 1
        if is_clock[0] or left[0] <= 0 or id(optimizer) not in noted:
            for look in looks:
                look(optimizer)

    def in_graphs(_optimizer: Any, _args: Any, _kwargs: Any) -> None:
        pass

    before = getattr(module, "_global_optimizer_pre_hooks", None)
    after = getattr(module, "_global_optimizer_post_hooks", None)
    if before is None or after is None:
        if wants_windows:
            torch_windows.are_impossible(agent)
        return

    for hook in (begin_update, end_update):
        dynamo.replace_in_graphs(hook, in_graphs)
    before[_OURS], after[_OURS] = begin_update, end_update
    aside.takes_part(step_looks)
    if wants_windows:
        torch_windows.watch(agent)


def count_batches(module: ModuleType) -> None:
    """By what returns: at the end of the data there is one more call, which gives none."""
    loader: Any = module._BaseDataLoaderIter
    original, batches = loader.__next__, counter("batches")

    def counted(self: Any) -> Any:
        try:
            batch = original(self)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        batches.cell[0] += 1
        return batch

    aside.Replaced(loader, "__next__", dressed(counted, original))
