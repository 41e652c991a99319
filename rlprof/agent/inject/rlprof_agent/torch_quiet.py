"""Keep torch's profiler from printing while a window of ours is open.

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
    from typing import Any, Optional

_LEVEL = "_ZN9libkineto6Logger14severityLevel_E"
"""``libkineto::Logger::severityLevel_``, which every torch with kineto exports."""

_SILENT = 99


def asks_for_more() -> bool:
    """Tell whether the program's environment asks for more than errors: torch reads that as the first window opens, and tells of it before
    anything can be raised.
    """
    return os.environ.get("KINETO_LOG_LEVEL", "9").strip() in ("-1", "0", "1")


def find_level() -> Any:
    """The level, as a ctypes integer; None where this torch has none that can be found, or the program :func:`asks_for_more`."""
    if asks_for_more():
        return None
    torch: Any = sys.modules["torch"]
    try:
        ctypes = c_functions.ctypes()

        path = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
        # The one that is loaded, never another.
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        return ctypes.c_int.in_dll(library, _LEVEL)
    except (ImportError, OSError, ValueError, TypeError) as error:
        foreign_errors.pass_on(error)
        return None


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
