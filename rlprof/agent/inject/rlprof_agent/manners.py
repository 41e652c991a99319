"""Keep the probe out of sight of programs that handle signals themselves.

Stands in for functions of the C module ``_signal`` before ``signal`` copies them, so that a program which
wants SIGURG, blocks it, waits for signals or has a wake-up descriptor finds them as without us.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # a C module without stubs
import sys
from _thread import get_ident

from . import aside, foreign_errors, layout, stand_ins
from .stack_probe import is_blocked, is_probe

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Callable

    ProbeGetter = Callable[[], Any]

_WAITS = ("pause", "sigwait", "sigwaitinfo", "sigtimedwait")

_wakeup_fd_is_set = [False]


def yield_in_child(probe: Any) -> None:
    """Pause the probe of a forked child that inherits a wake-up descriptor from its parent."""
    if probe is not None and _wakeup_fd_is_set[0]:
        probe.pause_while(True, layout.PROBE_WAKEUP_FD)


def install(probe: ProbeGetter) -> None:
    """``probe()`` returns this process's probe or None; it changes after a fork."""
    real_signal = _signal.signal
    real_getsignal = _signal.getsignal
    real_set_wakeup_fd = _signal.set_wakeup_fd
    real_pthread_sigmask = _signal.pthread_sigmask

    def signal(*args: Any, **kwargs: Any) -> Any:
        current = probe()
        if current.holds_signal and args and args[0] == _signal.SIGURG:
            current.give_up(layout.PROBE_OWN_SIGURG)
        try:
            old = real_signal(*args, **kwargs)
        except BaseException as error:
            foreign_errors.trim(error)
            raise
        return _signal.SIG_DFL if is_probe(old) else old

    def getsignal(*args: Any, **kwargs: Any) -> Any:
        try:
            handler = real_getsignal(*args, **kwargs)
        except BaseException as error:
            foreign_errors.trim(error)
            raise
        return _signal.SIG_DFL if is_probe(handler) else handler

    def set_wakeup_fd(*args: Any, **kwargs: Any) -> Any:
        current = probe()
        # Before the call, so that not one byte of ours gets into the descriptor.
        current.hush()
        try:
            previous = real_set_wakeup_fd(*args, **kwargs)
            _wakeup_fd_is_set[0] = args[0] != -1
        except BaseException as error:
            foreign_errors.trim(error)
            raise
        finally:
            current.pause_while(_wakeup_fd_is_set[0], layout.PROBE_WAKEUP_FD)
        return previous

    def pthread_sigmask(*args: Any, **kwargs: Any) -> Any:
        current = probe()
        # Before the call, for what came while SIGURG is blocked would be seen to pend.
        current.hush()
        try:
            return real_pthread_sigmask(*args, **kwargs)
        except BaseException as error:
            foreign_errors.trim(error)
            raise
        finally:
            current.pause_while(is_blocked(), layout.PROBE_SIGURG_BLOCKED)

    def put_off() -> None:
        current = probe()
        if current is not None and current.thread == get_ident():
            current.put_off()

    def for_its_thread(real: Any, ours: Any) -> Any:
        def choose() -> Any:
            current = probe()
            return real if current is None or current.thread != get_ident() else ours

        return choose

    chosen = {
        "signal": for_its_thread(real_signal, signal),
        # Other threads may ask, too.
        "getsignal": lambda: getsignal,
        "set_wakeup_fd": for_its_thread(real_set_wakeup_fd, set_wakeup_fd),
        "pthread_sigmask": for_its_thread(real_pthread_sigmask, pthread_sigmask),
        **{name: stand_ins.after(put_off, getattr(_signal, name)) for name in _WAITS},
    }
    reals = {name: getattr(_signal, name) for name in chosen}
    stand_ins_of = {name: stand_ins.StandIn(reals[name], choose) for name, choose in chosen.items()}
    aside.takes_part(_InPlace(reals, stand_ins_of, probe))
    _exchange(reals, stand_ins_of)


class _InPlace:
    """The stand-ins for functions of ``_signal``, also where ``signal`` has copied them to."""

    def __init__(self, reals: dict[str, Any], ours: dict[str, Any], probe: ProbeGetter) -> None:
        self._reals = reals
        self._ours = ours
        self._probe = probe

    def step_aside(self) -> None:
        _exchange(self._ours, self._reals)

    def step_back(self) -> None:
        _exchange(self._reals, self._ours)
        current = self._probe()
        if current is None or current.thread != get_ident():
            return
        # Setting it is the one way to ask for it.
        set_wakeup_fd = self._reals["set_wakeup_fd"]
        found = set_wakeup_fd(-1)
        _wakeup_fd_is_set[0] = found != -1
        if _wakeup_fd_is_set[0]:
            set_wakeup_fd(found, warn_on_full_buffer=False)
        current.pause_while(_wakeup_fd_is_set[0], layout.PROBE_WAKEUP_FD)


def _exchange(those: dict[str, Any], others: dict[str, Any]) -> None:
    for module in (_signal, sys.modules.get("signal")):
        for name, other in others.items():
            if module is not None and vars(module).get(name) is those[name]:
                setattr(module, name, other)
