"""Errors that are the program's though they come through our code: its signal handlers may raise them, and its other threads send them.

Python runs those handlers between any two steps of any function of the main thread, ours as well, and raises there what another thread has sent
(``PyThreadState_SetAsyncExc``), as watchdogs of episodes do.
"""

from __future__ import annotations

# The C module, without stubs.
from _signal import NSIG, getsignal  # type: ignore[import-not-found]
from sys import version_info

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

CO_OPTIMIZED = 1
KEEPS_SNAPSHOT = version_info < (3, 13)
"""True if ``f_locals`` of a function stays in its frame, and with it every value, until the next one."""

_FOLDER = __file__[: -len("foreign_errors.py")]
_PACKAGE = __name__[: -len("foreign_errors")]

_WITHOUT_WORDS = (MemoryError, RecursionError, StopIteration)
"""Errors that Python itself raises without arguments."""

_module_of = type.__dict__["__module__"].__get__
"""Of any class, be its metaclass what it may. (``plain_reads`` imports this file.)"""


def trim(error: BaseException) -> bool:
    """Take our frames off the beginning of its traceback; whether others are left.

    Before Python 3.11 they stay: an error that is raised again has the traceback it had.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_FOLDER):
        traceback = traceback.tb_next
    BaseException.with_traceback(error, traceback)
    return traceback is not None


def goes_on(error: BaseException) -> bool:
    """Tell whether to raise ``error`` again, for it is the program's and not of our making."""
    return trim(error) or not isinstance(error, Exception) or _is_sent(error)


def goes_on_from_a_look(error: BaseException) -> bool:
    """The same of an error in code that reads objects of a library's, whose own class it may be."""
    return breaks_in(error) or (_is_foreign(type(error)) and not error.args and not trim(error))


def _is_sent(error: BaseException) -> bool:
    """Tell whether another thread has sent it: a class of the program's, or one that is raised without a word, as our own errors are not."""
    kind = type(error)
    return _is_foreign(kind) or not (error.args or kind in _WITHOUT_WORDS)


def _is_foreign(kind: type) -> bool:
    module = _module_of(kind)
    return module != "builtins" and not (type(module) is str and module.startswith(_PACKAGE))


def breaks_in(error: BaseException) -> bool:
    """Tell the same of an error that comes through code of others which we have called, and which may fail."""
    if not isinstance(error, Exception):
        return True
    earlier: list[FrameType] = []
    traceback = error.__traceback__
    while traceback is not None:
        if _is_called_by_python(traceback.tb_frame, earlier):
            return True
        earlier.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return False


def pass_on(error: BaseException) -> None:
    """Raise ``error`` again where it breaks in; to be called where errors of others are let go."""
    if not breaks_in(error):
        return
    try:
        raise error
    finally:
        # The frame of this function is in its traceback: with it there, all frames above would outlive their functions.
        del error


def pass_on_where_there_is_room(error: RecursionError) -> None:
    """The same of an error that may say that there is no room left for a look, nor for asking whose it is: then nothing is raised."""
    try:
        pass_on(error)
    except RecursionError as again:
        if again is error:
            raise


def _is_called_by_python(frame: FrameType, earlier: list[FrameType]) -> bool:
    """Tell whether it is that of a signal handler or tracer: they are given the frame that they interrupt."""
    if frame.f_code.co_filename.startswith(_FOLDER):
        return False
    values = _values_in(frame)
    values += [each for value in values if type(value) is tuple for each in value]
    if any(value is each for value in values for each in earlier):
        return True
    # One that has done with its frame.
    handlers = map(getsignal, range(1, NSIG))
    return any(getattr(handler, "__code__", None) is frame.f_code for handler in handlers)


def _values_in(frame: FrameType) -> list[Any]:
    """Return those of its variables. None is kept in the frame: an error among them would keep its traceback, and that the frame, with all above it,
    until the oldest generation is collected. Files that are lost then may have lost what was not written yet.
    """
    names = frame.f_locals
    values = list(names.values())
    if KEEPS_SNAPSHOT and frame.f_code.co_flags & CO_OPTIMIZED:
        names.clear()
    return values
