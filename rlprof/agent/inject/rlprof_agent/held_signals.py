"""Hold signals back while our hook runs in a forked child: Python loses what a handler raises in a hook.

What came meanwhile comes again, as long after the hook as the hook has taken: about where the child would
have been without us, and not in the midst of its start.
"""

from __future__ import annotations

import struct
import time

# The C module, without stubs.
from _signal import getsignal  # type: ignore[import-not-found]

from .cpu_timer import TIMES, timer_library

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

_SIG_BLOCK, _SIG_SETMASK = 0, 2
_SET_SIZE = 128
"""Of a ``sigset_t``, in bytes."""

_MOST_SIGNALS = 31
"""Those without a place in a queue; real-time ones are not held."""

_SIGURG = 23
"""The probe's own: it starts in a child only where this one is not blocked."""

_HELD = sum(1 << (number - 1) for number in range(1, _MOST_SIGNALS + 1) if number != _SIGURG)


def holding(act: Callable[[], None]) -> Callable[[], None]:
    """``act`` for a hook of a forked child. Raises ImportError without ctypes."""
    import ctypes

    # The functions of ``signal`` would run handlers at once.
    library = ctypes.CDLL(None)
    held, before = _signals(_HELD), _signals(0)

    def in_child() -> None:
        begun_ns = time.monotonic_ns()
        library.pthread_sigmask(_SIG_BLOCK, None, before)
        try:
            library.pthread_sigmask(_SIG_BLOCK, held, None)
            act()
        finally:
            for number in _came(library, _HELD & ~before[0]):
                _put_off(number, time.monotonic_ns() - begun_ns)
            library.pthread_sigmask(_SIG_SETMASK, before, None)

    return in_child


def _came(library: Any, among: int) -> list[int]:
    """The signals that pend ``among`` these, and have a handler in Python."""
    pending = _signals(0)
    library.sigpending(pending)
    return [
        number
        for number in range(1, _MOST_SIGNALS + 1)
        if pending[0] & among & 1 << (number - 1) and callable(getsignal(number))
    ]


def _put_off(number: int, by_ns: int) -> None:
    """Take the pending signal ``number`` back, and have it come again after ``by_ns``."""
    import ctypes

    library = timer_library()
    timer = ctypes.c_void_p()
    event = ctypes.create_string_buffer(struct.pack("=qii", 0, number, 0), 64)
    if library.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)):
        return  # It comes at once.
    at_once = (ctypes.c_long * 2)(0, 0)
    library.sigtimedwait(_signals(1 << (number - 1)), None, at_once)
    first = divmod(by_ns, 1_000_000_000)
    library.timer_settime(timer, 0, TIMES.pack(0, 0, *first), None)


def _signals(members: int) -> Any:
    """A set as the C library has it, of words."""
    import ctypes

    words = _SET_SIZE // ctypes.sizeof(ctypes.c_ulong)
    return (ctypes.c_ulong * words)(members)
