"""Keep the probe out of sight of programs that handle signals themselves.

Wraps three functions of the C module ``_signal`` before ``signal`` copies them, so
that a program which wants SIGURG or a wake-up descriptor finds them as without us.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a C module without stubs
import sys

from . import layout
from .stack_probe import is_probe

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    ProbeGetter = Callable[[], Any]


_wakeup_fd_is_set = [False]


def yield_in_child(probe: Any) -> None:
    """Pause the probe of a forked child that inherits a wake-up descriptor from its parent."""
    if probe is not None and _wakeup_fd_is_set[0]:
        probe.pause(layout.PROBE_WAKEUP_FD)


def install(probe: ProbeGetter) -> None:
    """``probe()`` returns this process's probe or None; it changes after a fork."""
    real_signal = _signal.signal
    real_getsignal = _signal.getsignal
    real_set_wakeup_fd = _signal.set_wakeup_fd

    def signal(signalnum: Any, handler: Any, /) -> Any:
        current = probe()
        if current is not None and current.holds_signal and signalnum == _signal.SIGURG:
            current.give_up(layout.PROBE_OWN_SIGURG)
        old = real_signal(signalnum, handler)
        return _signal.SIG_DFL if is_probe(old) else old

    def getsignal(signalnum: Any, /) -> Any:
        handler = real_getsignal(signalnum)
        return _signal.SIG_DFL if is_probe(handler) else handler

    def set_wakeup_fd(fd: Any, /, **options: Any) -> Any:
        current = probe()
        if current is None:
            return real_set_wakeup_fd(fd, **options)
        was_on = current.is_on
        # Before the call, so that not one byte of ours gets into the descriptor.
        current.pause(layout.PROBE_WAKEUP_FD)
        is_free = was_on
        try:
            previous = real_set_wakeup_fd(fd, **options)
            is_free = fd == -1
            _wakeup_fd_is_set[0] = not is_free
        finally:
            if is_free:
                current.resume(layout.PROBE_WAKEUP_FD)
        return previous

    _replace(real_signal, signal)
    _replace(real_getsignal, getsignal)
    _replace(real_set_wakeup_fd, set_wakeup_fd)


def _replace(real: Any, ours: Any) -> None:
    name: str = real.__name__
    ours.__doc__ = real.__doc__
    ours.__module__ = real.__module__
    ours.__qualname__ = real.__qualname__
    ours.__text_signature__ = getattr(real, "__text_signature__", None)
    setattr(_signal, name, ours)
    loaded: Any = sys.modules.get("signal")
    if loaded is not None and getattr(loaded, name, None) is real:
        setattr(loaded, name, ours)
