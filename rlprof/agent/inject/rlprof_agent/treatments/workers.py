"""Worker processes that are kept from one round to the next, and that come from a server which has imported their packages."""

from __future__ import annotations

import atexit

from ..real import os, sys

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    Reached = Callable[[], None]

_INSTALLED_IN = "/site-packages/", "/dist-packages/"


def keep_pools(module: ModuleType, reached: Reached) -> None:
    """Hand out a pool again once it was closed, where the next is to be such a one. ``module`` is ``multiprocessing.context``."""
    kind: Any = vars(module)["BaseContext"]
    make: Any = kind.Pool
    free: dict[Any, list[Any]] = {}

    def pool(
        self: Any,
        processes: Any = None,
        initializer: Any = None,
        initargs: Any = (),
        maxtasksperchild: Any = None,
    ) -> Any:
        if initializer is not None:
            # It may set each up for its round alone.
            return make(self, processes, initializer, initargs, maxtasksperchild)
        there = free.setdefault((os.getpid(), type(self), processes, maxtasksperchild), [])
        if there:
            reached()
            return _on_loan(there.pop(), there)
        made = make(self, processes, None, (), maxtasksperchild)
        # Before its pipes are closed: it would complain of them.
        atexit.register(made.terminate)
        return _on_loan(made, there)

    kind.Pool = pool


def _on_loan(pool: Any, free: list[Any]) -> Any:
    """``pool`` for one round: to close it, or to forget it, gives it back."""
    is_out = [True]

    class Pool(type(pool)):  # type: ignore[misc]  # that of its context
        def __init__(self) -> None:
            """Be given all that ``pool`` has."""

        def close(self) -> None:
            # Once: by then it may be out for another round.
            if is_out and pool._state == "RUN":
                free.append(pool)
            is_out.clear()

        terminate = close

        def join(self) -> None:
            """Wait for nobody: they stay."""

        def __exit__(self, *_: Any) -> None:
            self.close()

        def __del__(self, *_: Any) -> None:
            self.close()

    lent = Pool()
    lent.__dict__ = pool.__dict__
    return lent


_BEFORE_INITIALIZER = 2
"""Arguments of an executor by position before its initializer: workers and the context."""


def keep_executors(module: ModuleType, reached: Reached) -> None:
    """The same of executors. ``module`` is ``concurrent.futures.process``."""
    names: Any = vars(module)
    base: Any = names["ProcessPoolExecutor"]
    wait_for: Any = names["_base"].wait
    free: dict[Any, list[Any]] = {}

    class ProcessPoolExecutor(base):  # type: ignore[misc]  # the standard library's own class
        def __new__(cls, *given: Any, **options: Any) -> Any:
            there = free.get(_key(given, options)) if cls is ProcessPoolExecutor else None
            if there:
                reached()
                return there.pop()
            return super().__new__(cls)

        def __init__(self, *given: Any, **options: Any) -> None:
            if "_max_workers" not in vars(self):
                super().__init__(*given, **options)
                self._rlprof_key = _key(given, options)

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            is_whole = not self._broken and self._rlprof_key and not cancel_futures
            if type(self) is not ProcessPoolExecutor or not is_whole:
                super().shutdown(wait, cancel_futures=cancel_futures)
                return
            if wait:
                wait_for([item.future for item in list(self._pending_work_items.values())])
            waiting = free.setdefault(self._rlprof_key, [])
            if self not in waiting:
                waiting.append(self)

    names["ProcessPoolExecutor"] = ProcessPoolExecutor


def _key(given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """By what an executor that is made so can be found again; None where it cannot: an initializer may set each up for its round alone."""
    if len(given) > _BEFORE_INITIALIZER or "initializer" in options or "initargs" in options:
        return None
    return os.getpid(), given, tuple(sorted(options.items()))


def fork_from_server(module: ModuleType) -> None:
    """Take a fork server where processes were to be spawned. ``module`` is ``multiprocessing.context``."""
    contexts: Any = vars(module)["_concrete_contexts"]
    contexts["spawn"] = contexts["forkserver"]


def preload(module: ModuleType, reached: Reached) -> None:
    """Have the fork server import the packages that are loaded here, once for all processes. ``module`` is ``multiprocessing.forkserver``."""
    kind: Any = vars(module)["ForkServer"]
    ensure_running: Any = kind.ensure_running

    def ensured(self: Any) -> None:
        if self._forkserver_pid is None:
            reached()
            self.set_forkserver_preload(_installed_packages())
        ensure_running(self)

    kind.ensure_running = ensured


def _installed_packages() -> list[str]:
    """Packages of others' that this process has imported; not the program's own, whose import may do what is to be done once."""
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        is_whole = "." not in name and not name.startswith(("_", "rlprof"))
        if is_whole and any(folder in file for folder in _INSTALLED_IN):
            found.append(name)
    return sorted(found)
