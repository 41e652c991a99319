"""Tell the recorder how this process is about to end, where that can be known from inside."""

from __future__ import annotations

import atexit
import sys

from . import aside, foreign_errors, layout, stand_ins

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    CellsGetter = Callable[[], Any]

_cells: list[CellsGetter] = []


def install(cells: CellsGetter) -> None:
    """``cells()`` returns those of this process's mailbox, or None; it changes after a fork."""
    _cells.append(cells)
    # The first to be registered is the last to be called.
    atexit.register(aside.hook(_end, lambda: bool))


def watch_workers(module: ModuleType) -> None:
    """``module`` is ``multiprocessing.util``: its processes have this called when they end."""
    real: Any = vars(module)["_flush_std_streams"]
    stand_ins.replace(module, "_flush_std_streams", stand_ins.after(_tell_code, real))


WATCHED = {"multiprocessing.util": watch_workers}


def _end() -> None:
    _tell_uncaught()
    _tell_counts()


def _tell_counts() -> None:
    call_marks: Any = sys.modules.get("rlprof_agent.counted.call_marks")
    if call_marks is not None:
        try:
            call_marks.add_what_is_left()
        except Exception as error:
            foreign_errors.pass_on(error)  # A signal handler of the program's may raise here.


def _tell_uncaught() -> None:
    error = getattr(sys, "last_value", None)
    # An interrupted program did not fail.
    if error is not None and not isinstance(error, KeyboardInterrupt):
        _tell(1)


def _tell_code() -> None:
    # Called by the property that chooses, and that by the one who calls what it chooses.
    caller = sys._getframe(3)
    if caller.f_code.co_name == "_bootstrap":
        _tell_counts()
        code = caller.f_locals.get("exitcode")
        if type(code) is int:
            _tell(code & 0xFF)


def _tell(code: int) -> None:
    cells = _cells[0]()
    if cells is not None:
        cells[layout.CELL_EXIT] = 1 + code
