"""Child processes that end with the training, however it ends."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

PR_SET_PDEATHSIG = 1
"""See prctl(2)."""
STOP_S = 5.0
"""How long a child may take to stop when asked, before it is killed."""


class ChildDied(Exception):
    """A child process ended before the training did."""


def context() -> BaseContext:
    """Fork where it is safe: the children are there at once, without importing torch again.

    It is safe on Linux because they are forked before torch has started a thread.
    """
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


@contextmanager
def children(
    work: Callable[..., None], arguments: list[tuple[object, ...]], stop: Callable[[], None]
) -> Iterator[list[BaseProcess]]:
    """Processes that each do ``work``; ``stop`` asks them to end when the training has ended well.

    Otherwise they are killed: one that died may have taken a lock with it. For the same reason a
    death interrupts whatever the parent waits for, and raises ``ChildDied`` there.
    """
    started: list[BaseProcess] = []
    before = signal.signal(signal.SIGCHLD, lambda *_: check(started))
    try:
        try:
            for each in arguments:
                child = context().Process(target=_work, args=(work, *each), daemon=True)
                child.start()
                started.append(child)
            yield started
        finally:
            signal.signal(signal.SIGCHLD, before)
        stop()
        for child in started:
            child.join(STOP_S)
    finally:
        for child in started:
            child.kill()
            child.join()


def check(processes: list[BaseProcess]) -> None:
    """Raise ``ChildDied`` unless all are alive."""
    for child in processes:
        if not child.is_alive():
            raise ChildDied(
                f"{child.name} (pid {child.pid}) ended with exit code {child.exitcode} "
                "before the training did"
            )


def wait_for(start: Event) -> None:
    """Wait, in a child, until the parent sets ``start``; end with the parent."""
    parent = multiprocessing.parent_process()
    while not start.wait(1.0):
        if parent is None or not parent.is_alive():
            sys.exit(1)


def die_with_parent() -> None:
    """On Linux, have this process killed when its parent dies: it may be waiting for a lock that
    the parent held.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _work(work: Callable[..., None], *arguments: object) -> None:
    # Ctrl-C reaches every process of the terminal: the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent()
    work(*arguments)
