"""Keep torch's profiler from printing while a window of ours is open, and from leaving a thread behind.

torch 2.13 tells on stderr of each start and stop. The level below which its profiling library is silent
is one number for the whole process: it is raised for the time of a window, so that the program's own
profiler prints what it would have printed.
"""

from __future__ import annotations

import os
import sys

from . import c_functions, foreign_errors

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

_LEVEL = "_ZN9libkineto6Logger14severityLevel_E"
"""``libkineto::Logger::severityLevel_``, which every torch with kineto exports."""

_SILENT = 99

_LOADER = "_ZN9libkineto12ConfigLoader8instanceEv"
_STOP = "_ZN9libkineto12ConfigLoader10stopThreadEv"
"""``libkineto::ConfigLoader::instance()`` and its ``stopThread()``."""
_WANT_THREAD = ("KINETO_USE_DAEMON", "KINETO_CONFIG")
"""Variables by which a program has that thread ask for settings while it runs."""
_THREADS = "/proc/self/task"


def asks_for_more() -> bool:
    """Tell whether the program's environment asks for more than errors: torch reads that as the first window opens, and tells of it before
    anything can be raised.
    """
    return os.environ.get("KINETO_LOG_LEVEL", "9").strip() in ("-1", "0", "1")


def find_level() -> Any:
    """The level, as a ctypes integer; None where this torch has none that can be found, or the program :func:`asks_for_more`."""
    if asks_for_more():
        return None
    try:
        return c_functions.ctypes().c_int.in_dll(_library(), _LEVEL)
    except (ImportError, OSError, ValueError, TypeError) as error:
        foreign_errors.pass_on(error)
        return None


def find_stop() -> Optional[Callable[[], Any]]:
    """Return what ends the thread that torch's profiler has from its first use on; None where this torch has none, or the program wants it."""
    if any(name in os.environ for name in _WANT_THREAD):
        return None
    try:
        pointer = c_functions.ctypes().c_void_p
        loader, stop = _library()[_LOADER], _library()[_STOP]
    except (ImportError, OSError, AttributeError, TypeError) as error:
        foreign_errors.pass_on(error)
        return None
    loader.restype, stop.argtypes, stop.restype = pointer, [pointer], None
    return lambda: stop(loader())


def _library() -> Any:
    """Torch's, as it is loaded, never another."""
    torch: Any = sys.modules["torch"]
    path = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    return c_functions.ctypes().CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)


class LeftThread:
    """The thread that sleeps in the process after a window, and looks for settings every 5 s. A child that is forked has not got it, and waits
    at its end until it is gone (``pthread_cond_destroy``): for ever.
    """

    def __init__(self, stop: Optional[Callable[[], Any]]) -> None:
        self.stop = stop
        self._before: Optional[set[str]] = None
        """Threads before the first window, until it is ended."""

    def may_come(self) -> None:
        """A window is about to open."""
        if self._before is None and self.stop is not None:
            self._before = _threads()

    def end(self) -> None:
        """End it, where it sleeps as it should: one that has not come to that yet would hear of it after 5 s."""
        if self._before is None or self.stop is None:
            return
        new = _threads() - self._before
        if new and all(map(_sleeps, new)):
            self.stop()
            self.stop, self._before = None, None


def _threads() -> set[str]:
    """Those of this process; none where ``/proc`` does not tell."""
    try:
        return set(os.listdir(_THREADS))
    except OSError:
        return set()


def _sleeps(thread: str) -> bool:
    try:
        with open(_THREADS + "/" + thread + "/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"S"
    except OSError:
        return True  # It has ended.


class Silence:
    """Silence from :meth:`begin` until :meth:`end`."""

    def __init__(self, level: Any) -> None:
        self._level = level
        self._before: Optional[int] = None

    def begin(self) -> None:
        self._before = self._level.value
        self._level.value = _SILENT

    def end(self) -> None:
        if self._before is not None and self._level.value == _SILENT:
            self._level.value = self._before
