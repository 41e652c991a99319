"""Starts of processes, of any program: by ``subprocess``, ``multiprocessing`` or ``os``.

Python has several ways to start them, and some use each other: each start counts once, where it is
outermost in its thread, and whether it succeeds or not. What C code starts by itself is not seen.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from .. import aside
from ..counters import counter

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ..counters import Counter

_CALLS = ("system", "posix_spawn", "posix_spawnp")


def count_starts(module: ModuleType) -> None:
    """``module`` is ``os``. Forks tell of themselves: those of ``os.forkpty`` and ``os.spawnv`` too, and
    of ``subprocess`` where it runs Python between fork and exec.
    """
    starts = counter("process_starts")
    inside = starts.others

    def forked() -> None:
        if get_ident() not in inside:
            starts.cell[0] += 1

    own: Any = module
    own.register_at_fork(after_in_parent=aside.hook(forked, lambda: bool))
    for name in _CALLS:
        original = getattr(own, name, None)
        if original is not None:
            ours = _counting(original, starts)
            for each in (own, sys.modules[original.__module__]):
                setattr(each, name, ours)


def count_subprocesses(module: ModuleType) -> None:
    """Where ``subprocess`` has fork and exec done: that of a missing program is no error there, but later."""
    c_module: Any = sys.modules["_posixsubprocess"]
    ours = _counting(c_module.fork_exec, counter("process_starts"))
    c_module.fork_exec = ours
    own: Any = module
    if hasattr(own, "_fork_exec"):  # From Python 3.11 on it has a name of its own for it.
        own._fork_exec = ours


def count_spawns(module: ModuleType) -> None:
    """``module`` is ``multiprocessing.util``: new interpreters, and the servers of the library."""
    own: Any = module
    own.spawnv_passfds = _counting(own.spawnv_passfds, counter("process_starts"))


def _counting(original: Any, starts: Counter) -> Any:
    inside = starts.others

    def counted(*args: Any, **kwargs: Any) -> Any:
        me = get_ident()
        if me in inside:
            return original(*args, **kwargs)
        starts.cell[0] += 1
        inside.add(me)
        try:
            return original(*args, **kwargs)
        finally:
            inside.discard(me)

    # By hand: ``functools`` is more than an interpreter imports that starts.
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(counted, name, getattr(original, name))
    own: Any = counted
    own.__wrapped__ = original
    return counted
