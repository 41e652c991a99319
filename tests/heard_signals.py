"""Signals that a test sends must be heard, and by what it starts too."""

from __future__ import annotations

import signal


def hear_signals() -> None:
    """Shells start background jobs with the first two ignored, nohup ignores the last, and processes of the
    tests would inherit that.
    """
    for signum in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(signum) is signal.SIG_IGN:
            is_interrupt = signum == signal.SIGINT
            signal.signal(signum, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
