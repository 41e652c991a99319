"""Keep the probe out of sight of programs that handle signals themselves.

Wraps four functions of the C module ``_signal`` before ``signal`` copies them, so
that a program which wants SIGURG or a wake-up descriptor finds them as without us.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a C module without stubs
import sys

from . import layout

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    ProbeGetter = Callable[[], Any]


def install(probe: ProbeGetter) -> None:
    """``probe()`` returns this process's probe or None; it changes after a fork."""
    real_signal = _signal.signal
    real_getsignal = _signal.getsignal
    real_set_wakeup_fd = _signal.set_wakeup_fd

    def signal(signalnum: Any, handler: Any, /) -> Any:
        current = probe()
        if current is not None and current.is_on and signalnum == _signal.SIGURG:
            current.give_up(layout.PROBE_OWN_SIGURG)
        return real_signal(signalnum, handler)

    def getsignal(signalnum: Any, /) -> Any:
        current = probe()
        if current is not None and current.is_on and signalnum == _signal.SIGURG:
            return _signal.SIG_DFL
        return real_getsignal(signalnum)

    def set_wakeup_fd(fd: Any, /, **options: Any) -> Any:
        previous = real_set_wakeup_fd(fd, **options)
        current = probe()
        if current is not None:
            if fd == -1:
                current.resume(layout.PROBE_WAKEUP_FD)
            else:
                current.pause(layout.PROBE_WAKEUP_FD)
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
