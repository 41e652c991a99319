"""The bad end of a run, as reports tell it."""

from __future__ import annotations

from dataclasses import dataclass
from signal import Signals
from typing import Final, NamedTuple

from rlprof.errors import EXIT_SIGNAL
from rlprof.model.recording import POOLED, Process

STOPPED_BY: Final = frozenset({Signals.SIGINT, Signals.SIGTERM, Signals.SIGHUP, Signals.SIGQUIT})
"""Signals that end a program because somebody wants it to: Ctrl-C, a scheduler or a parent, a terminal that is closed, Ctrl-\\."""

_STOPPED_WORKER_BY: Final = STOPPED_BY | {Signals.SIGPIPE}


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
    """Exit code of the program, 128+n for signal n; None where only workers died."""
    workers: tuple[DeadWorker, ...]
    """In the order in which they died."""
    before_steady: bool
    """True if there was nothing steady before it: then there is no advice."""


def signal_of(exit_code: int | None) -> Signals | None:
    """The signal that an exit code stands for; None for that of a program that ended by itself."""
    try:
        return Signals((exit_code or 0) - EXIT_SIGNAL)
    except ValueError:
        return None


def is_stopped_by(exit_code: int | None) -> bool:
    """Tell whether a signal ended a program with this exit code that somebody ends programs by."""
    return signal_of(exit_code) in STOPPED_BY


def is_worker_stopped_by(exit_code: int | None) -> bool:
    """The same of a worker, which ends as its pipe is closed, too."""
    return signal_of(exit_code) in _STOPPED_WORKER_BY


def is_bad_end(exit_code: int | None) -> bool:
    """Tell whether a program with this exit code failed, and was not just stopped."""
    return bool(exit_code) and not is_stopped_by(exit_code)


NOTICED_AFTER_US: Final = 2_000_000
"""A dead process is noticed at the next look at the tree, and work may cease before, too."""


def has_died(process: Process) -> bool:
    """Tell whether it is a worker of multiprocessing that ended badly, and was not stopped."""
    return _ended_badly(process) and not is_worker_stopped_by(process.exit_code)


def is_missed(process: Process, from_us: int) -> bool:
    """Tell whether it is a worker that was stopped, as by ``kill``, just when work ceased for lack of it: whoever is done with a worker
    goes on without it.
    """
    return (
        _ended_badly(process)
        and is_worker_stopped_by(process.exit_code)
        and abs((process.ended_us or 0) - from_us) <= NOTICED_AFTER_US
    )


def _ended_badly(process: Process) -> bool:
    return (
        bool(process.exit_code)
        # Programs that were started otherwise may fail as part of the work: to look whether a module is there.
        and process.start_method in POOLED
        and process.ended_us is not None
    )


@dataclass(frozen=True, slots=True)
class Hang:
    """A stretch of the run in which nobody worked: one that waits for who has died, or all for each other."""

    start_us: int
    end_us: int
    pid: int
    """Who waits: the main process, if it does."""
    role: str
    kind: str
    """Kind of its wait: a value of ``WaitKind``."""
    file: str
    """The user's line that waits; empty where it is not known."""
    line: int
    function: str
    for_the_dead: bool
    """True if a worker had died before."""
