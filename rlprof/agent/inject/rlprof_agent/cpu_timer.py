"""A POSIX timer on the CPU time of one thread, through ctypes on the C library."""

from __future__ import annotations

import struct

from . import c_functions

CLOCK_THREAD_CPUTIME_ID = 3
SIGEV_THREAD_ID = 4
PR_SET_PTRACER = 0x59616D61

_SIGEVENT_SIZE = 64
TIMES = struct.Struct("@llll")
"""Interval and time to the next firing, each in seconds and ns."""


class CpuTimer:
    """Sends ``signum`` to the thread that creates it, once per interval of its CPU time.

    The kernel counts only while the thread runs, so a sleeping call is never
    interrupted. The timer is gone after ``exec`` and is not inherited by ``fork``.
    """

    def __init__(self, signum: int, native_thread_id: int) -> None:
        ctypes = c_functions.ctypes()

        library = c_functions.timer_library()
        self._timer = ctypes.c_void_p()
        event = struct.pack("=qiii", 0, signum, SIGEV_THREAD_ID, native_thread_id)
        buffer = ctypes.create_string_buffer(event, _SIGEVENT_SIZE)
        if library.timer_create(CLOCK_THREAD_CPUTIME_ID, buffer, ctypes.byref(self._timer)):
            raise OSError(ctypes.get_errno(), "timer_create")
        # Made now: an audit hook of the program's may forbid what ctypes tells it of, as looking up a function or making a buffer.
        self._settime = library.timer_settime
        self._before = ctypes.create_string_buffer(TIMES.size)

    def set_interval(self, interval_us: int, first_ns: int = 0) -> int:
        """Fire every ``interval_us`` of CPU time from now on, at first after ``first_ns`` if that is given;
        0 stops. Return the ns that were left until it would have fired. Never raises: it is called from within the program's calls.
        """
        seconds, us = divmod(interval_us, 1_000_000)
        first = divmod(first_ns or interval_us * 1000, 1_000_000_000)
        # Of this call alone: the probe's handler, which calls this too, may come in between.
        spec = TIMES.pack(seconds, us * 1000, *first)
        self._settime(self._timer, 0, spec, self._before)
        _, _, left_s, left_ns = TIMES.unpack_from(self._before)
        return int(left_s * 1_000_000_000 + left_ns)


def allow_tracer(pid: int) -> None:
    """Let ``pid`` and its descendants read this process's memory where Yama restricts that."""
    ctypes = c_functions.ctypes()

    c_functions.library().prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)
