"""Hold signals back while our hook runs in a forked child: Python loses what a handler raises in a hook.

What came meanwhile comes again, as long after the hook as the hook has taken: about where the child would
have been without us, and not in the midst of its start. A child that becomes another program sooner gets it then.
"""

from __future__ import annotations

import os
import struct

# The C module, without stubs.
from _signal import SIG_DFL, getsignal, signal  # type: ignore[import-not-found]

from . import c_functions, foreign_errors, forks, stand_ins
from .c_functions import timer_library
from .cpu_timer import TIMES
from .real import time

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

_SIG_BLOCK, _SIG_SETMASK = 0, 2
_SET_SIZE = 128
"""Size of a ``sigset_t``, in bytes."""

_MOST_SIGNALS = 31
"""Those without a place in a queue; real-time ones are not held."""

_SIGURG = 23
"""The probe's own: it starts in a child only where this one is not blocked."""

_HELD = sum(1 << (number - 1) for number in range(1, _MOST_SIGNALS + 1) if number != _SIGURG)

_EXECS = ("execv", "execve")
"""Functions of ``os``: all its others call these."""

_coming: dict[int, Any] = {}
"""Timers by the signals that are to come again."""


def holding(act: Callable[[], None], forget: Callable[[], None]) -> Callable[[], None]:
    """``act`` for a hook of a forked child; ``forget`` for one that becomes another program at once.

    Raises ImportError without ctypes.
    """
    # The functions of ``signal`` would run handlers at once.
    library = c_functions.library()
    # Looked up now: what comes before its first call in the child is lost as Python loses it.
    set_mask, pending = library.pthread_sigmask, library.sigpending
    held, before = _signals(_HELD), _signals(0)

    def in_child() -> None:
        _coming.clear()
        if forks.is_for_another_program():
            forget()
            return
        begun_ns = time.monotonic_ns()
        set_mask(_SIG_BLOCK, None, before)
        try:
            set_mask(_SIG_BLOCK, held, None)
            act()
        finally:
            try:
                for number in _came(pending, _HELD & ~before[0]):
                    _put_off(number, time.monotonic_ns() - begun_ns)
            finally:
                # Whatever refuses what (an audit hook of the program's), the child hears of its signals.
                set_mask(_SIG_SETMASK, before, None)

    return in_child


def _came(ask: Any, among: int) -> list[int]:
    """The signals that pend ``among`` these, and have a handler in Python."""
    pending = _signals(0)
    ask(pending)
    return [
        number
        for number in range(1, _MOST_SIGNALS + 1)
        if pending[0] & among & 1 << (number - 1) and callable(getsignal(number))
    ]


def _put_off(number: int, by_ns: int) -> None:
    """Take the pending signal ``number`` back, and have it come again after ``by_ns``."""
    ctypes = c_functions.ctypes()

    library = timer_library()
    timer = ctypes.c_void_p()
    event = ctypes.create_string_buffer(struct.pack("=qii", 0, number, 0), 64)
    if library.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)):
        return  # It comes at once.
    at_once = (ctypes.c_long * 2)(0, 0)
    c_functions.library().sigtimedwait(_signals(1 << (number - 1)), None, at_once)
    first = divmod(by_ns, 1_000_000_000)
    library.timer_settime(timer, 0, TIMES.pack(0, 0, *first), None)
    _coming[number] = timer
    _watch_execs()


def _watch_execs() -> None:
    """Send what is still to come before this process becomes another program: a timer does not outlive that."""
    for name in _EXECS:
        real = getattr(os, name)
        if type(real) is not stand_ins.StandIn:
            stand_ins.replace(os, name, _choosing(real))


def _choosing(real: Any) -> Callable[[], Any]:
    def execute(*args: Any, **kwargs: Any) -> Any:
        try:
            _send_before(args[0] if args else kwargs["path"])
        except BaseException as error:
            if foreign_errors.goes_on(error):
                raise
        try:
            return real(*args, **kwargs)
        except BaseException as error:
            foreign_errors.trim(error)
            raise

    return lambda: execute if _coming else real


def _send_before(program: Any) -> None:
    """Send what is still to come as it would come to ``program``, where handlers in Python are no more."""
    # By its descriptor, or one of those that a search of PATH tries.
    if not isinstance(program, int) and not (
        os.path.isfile(program) and os.access(program, os.X_OK)
    ):
        return
    ctypes = c_functions.ctypes()

    left = ctypes.create_string_buffer(TIMES.size)
    while _coming:
        number, timer = _coming.popitem()
        timer_library().timer_settime(timer, 0, TIMES.pack(0, 0, 0, 0), left)
        if not any(TIMES.unpack(left.raw)):
            continue  # It has come.
        handler = getsignal(number)
        if callable(handler):
            signal(number, SIG_DFL)
        os.kill(os.getpid(), number)
        if callable(handler):
            signal(number, handler)


def _signals(members: int) -> Any:
    """A set as the C library has it, of words."""
    ctypes = c_functions.ctypes()

    words = _SET_SIZE // ctypes.sizeof(ctypes.c_ulong)
    return (ctypes.c_ulong * words)(members)
