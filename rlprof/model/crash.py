"""The bad end of a run, as reports tell it."""

from __future__ import annotations

from dataclasses import dataclass
from signal import Signals
from typing import Final, NamedTuple

_KILLED: Final = 128
"""Exit codes above are this and the number of a signal."""

STOPPED_BY: Final = frozenset({Signals.SIGINT, Signals.SIGTERM})
"""Signals that end a program because somebody wants it to: Ctrl-C, a scheduler, a parent."""


class DeadWorker(NamedTuple):
    """A process of a run that ended badly, and not because somebody stopped it."""

    pid: int
    role: str
    exit_code: int
    """128+n for signal n."""
    ended_us: int


@dataclass(frozen=True, slots=True)
class Crash:
    exit_code: int | None
    """Of the program, 128+n for signal n; None where only workers died."""
    workers: tuple[DeadWorker, ...]
    """In the order in which they died."""
    before_steady: bool
    """Whether there was nothing steady before it: then there is no advice."""


def signal_of(exit_code: int | None) -> Signals | None:
    """The signal that an exit code stands for; None for that of a program that ended by itself."""
    try:
        return Signals((exit_code or 0) - _KILLED)
    except ValueError:
        return None


def is_bad_end(exit_code: int | None) -> bool:
    """Tell whether a program with this exit code failed, and was not just stopped."""
    return bool(exit_code) and signal_of(exit_code) not in STOPPED_BY
