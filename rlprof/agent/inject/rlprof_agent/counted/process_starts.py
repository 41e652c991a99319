"""Starts of processes, of any program: by ``subprocess``, ``multiprocessing`` or ``os``.

All ways of Python lead through a fork, which tells of itself, or through one of a few C functions. They are
C functions still: a frame of ours before one would be in tracebacks and in warnings of forks among threads.
Each start counts once, whether it succeeds or not. What C code starts by itself is not seen.
"""

from __future__ import annotations

import sys

from .. import aside, forks
from ..counters import counter
from ..stand_ins import StandIn, after, replace

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_CALLS = ("system", "posix_spawn", "posix_spawnp")


def count_starts(module: ModuleType) -> None:
    """``module`` is ``os``. Forks: those of ``os.forkpty`` and ``os.spawnv`` too."""
    counter("process_starts")  # Told from the start: none are 0 of them.
    own: Any = module
    own.register_at_fork(after_in_parent=aside.hook(_forked, lambda: bool))
    for name in _CALLS:
        original = getattr(own, name, None)
        if original is not None:
            _count_calls(name, original, own, sys.modules[original.__module__])


def count_subprocesses(module: ModuleType) -> None:
    """Count them where ``subprocess`` has fork and exec done: that of a missing program is no error there, but later."""
    ours = _count_fork_exec()
    if hasattr(module, "_fork_exec"):  # From Python 3.11 on it has a name of its own for it.
        aside.Replaced(module, "_fork_exec", ours)


def count_spawns(module: ModuleType) -> None:
    """``module`` is ``multiprocessing.util``: new interpreters, and the servers of the library. It imports
    what it starts them by when it does, and no sooner.
    """
    own: Any = module
    replace(own, "spawnv_passfds", after(_count_fork_exec, own.spawnv_passfds))


def _count_fork_exec() -> Any:
    """Its stand-in, put in its place where it is not there yet."""
    import _posixsubprocess

    found: Any = _posixsubprocess.fork_exec
    return found if type(found) is StandIn else _count_calls("fork_exec", found, _posixsubprocess)


def _count_calls(name: str, original: Any, *owners: Any) -> Any:
    """The one stand-in for ``original`` in all modules that have it as ``name``."""
    ours = StandIn(original, after(_count, original))
    for owner in owners:
        aside.Replaced(owner, name, ours)
    return ours


def _forked() -> None:
    # Those have counted as calls already.
    if not forks.is_for_another_program():
        _count()


def _count() -> None:
    counter("process_starts").cell[0] += 1
