"""The module ctypes and the functions of the C library, as they were before the program began.

A program may forbid itself to load ctypes, as sandboxes for untrusted code do. And a forked child may open no library, nor look
a function up in one: where another thread of its parent was opening one at the fork, glibc ends it for that.
"""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

_module: Any
try:
    import ctypes as _module
except (ImportError, OSError, MemoryError):
    _module = None

_FUNCTIONS = ("getrlimit", "mmap", "prctl", "pthread_sigmask", "sigpending", "sigtimedwait")
_OF_TIMERS = ("timer_create", "timer_settime")
_opened: Any = None


def ctypes() -> Any:
    """The module. Raises ImportError where this Python has none."""
    if _module is None:
        raise ImportError("no ctypes")
    return _module


def library() -> Any:
    """The C library, of which the agent calls nothing but what :data:`_FUNCTIONS` names. Raises ImportError without ctypes, and OSError or
    AttributeError without one of them.
    """
    return _both()[0]


def timer_library() -> Any:
    """The library with the timer functions. Raises as :func:`library` does."""
    timers = _both()[1]
    if timers is None:
        raise OSError("no timers")
    return timers


def _both() -> Any:
    """The two of them, opened by the first call, which is made as the agent starts."""
    global _opened
    if _opened is None:
        of_c = ctypes().CDLL(None, use_errno=True)
        _look_up(of_c, _FUNCTIONS)
        of_c.mmap.restype = ctypes().c_void_p
        number, c_int = ctypes().c_size_t, ctypes().c_int
        of_c.mmap.argtypes = [ctypes().c_void_p, number, c_int, c_int, c_int, ctypes().c_ssize_t]
        _opened = of_c, _with_timers(of_c)
    return _opened


def _with_timers(of_c: Any) -> Any:
    """None where there are none."""
    try:
        # Before glibc 2.34 they lived in librt.
        timers = (
            of_c if hasattr(of_c, _OF_TIMERS[0]) else ctypes().CDLL("librt.so.1", use_errno=True)
        )
        _look_up(timers, _OF_TIMERS)
    except (OSError, AttributeError):
        return None
    return timers


def _look_up(opened: Any, names: tuple[str, ...]) -> None:
    for name in names:
        getattr(opened, name)  # ctypes keeps it as an attribute.
