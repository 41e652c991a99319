"""Calls that were left out, and for which somebody may wait: the training waits for his answer then, and for ever."""

from __future__ import annotations

from _thread import get_ident, start_new_thread

from .. import foreign_errors
from ..real import os, sys, time
from . import RefusedError

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

    from . import AskedPart

_LOOK_S = 0.05
_SILENT_NS = 1_000_000_000
_SILENT = 10
"""Times the longest time between two calls, after which no further one may come."""
_AT_WORK = 0.1
"""Part of the time between two looks in which a main thread that does not wait has a core, on a crowded machine too."""
_WAITING = (
    "multiprocessing/connection.py",
    "multiprocessing/queues.py",
    "multiprocessing/synchronize.py",
    "/queue.py",
    "/selectors.py",
    "/socket.py",
    "/threading.py",
)
"""Where the standard library waits, some of it with short naps."""


class MissedCalls:
    """The last ``most`` calls that were left out.

    A thread looks, while the treatment is on, whether the program has come to a stop, and makes them then: the main thread would hear of
    no signal in its wait.
    """

    def __init__(self, asked: AskedPart, most: int) -> None:
        self._asked = asked
        self._most = most
        self._main = get_ident()
        self._calls: list[tuple[Any, Any, Any]] = []
        self._came_ns = self._longest_ns = 0
        self._cpu_s = 0.0
        self._is_on = False
        self._watched_in = 0
        """The process that has a thread for it: a forked child has none."""
        self.are_waited_for = False
        """True once the program has waited for one: none is left out from then on."""

    def note(self, original: Any, args: Any, kwargs: Any, now_ns: int) -> None:
        """Keep a call of ``original`` that is left out now."""
        if not self._is_on:
            return
        if self._came_ns:
            self._longest_ns = max(self._longest_ns, now_ns - self._came_ns)
        self._came_ns = now_ns
        self._calls.append((original, args, kwargs))
        del self._calls[: -self._most]
        if self._watched_in != os.getpid():
            self._watched_in = os.getpid()
            start_new_thread(self._watch, ())

    def forget(self) -> None:
        """Nobody waits for those before this moment: a call is made."""
        self._calls.clear()

    def begin(self) -> None:
        self._came_ns = 0
        self._is_on = True

    def end(self) -> None:
        self._is_on = False
        self._calls.clear()

    def _watch(self) -> None:
        try:
            while self._is_on:
                time.sleep(_LOOK_S)
                if self._has_stopped():
                    self._make_up()
        except Exception as error:
            foreign_errors.pass_on(error)
            self._asked.failed(error)
        finally:
            self._watched_in = 0

    def _has_stopped(self) -> bool:
        before_s, self._cpu_s = self._cpu_s, _cpu_s_of(self._main)
        if not self._calls or not self._came_ns:
            return False
        silent_ns = time.perf_counter_ns() - self._came_ns
        if silent_ns <= max(_SILENT_NS, _SILENT * self._longest_ns):
            return False
        frame = sys._current_frames().get(self._main)
        if frame is None:
            return False
        # A read of a pipe is in C, below any line of the program's.
        is_idle = self._cpu_s - before_s < _AT_WORK * _LOOK_S
        return is_idle or frame.f_code.co_filename.endswith(_WAITING)

    def _make_up(self) -> None:
        calls, self._calls = self._calls, []
        self.are_waited_for = True
        self._asked.failed(RefusedError("the training waits for each of these calls"))
        for original, args, kwargs in calls:
            original(*args, **kwargs)


def _cpu_s_of(thread: int) -> float:
    return time.clock_gettime(time.pthread_getcpuclockid(thread))
