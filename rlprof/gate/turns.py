"""Two runs that take turns: while one has the machine, the other is stopped. ``main`` is the process that sees to it.

What a shared machine does from second to second then falls on both alike. It is a process of its own, so
that nothing stays stopped when the check is killed.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, NamedTuple, TypeVar

from rlprof.errors import MeasureError
from rlprof.gate.interruption import ENDING
from rlprof.gate.processes import (
    ProcessSession,
    command_to_run,
    end_with,
    last_lines,
    read_answer,
    read_request,
    write_message,
)
from rlprof.recording.machine import procfs

TURN_S: Final = 0.05
"""In the mean. Short beside what other users of the machine do, long beside refilling a cache and most waits of a step."""

_TIDY_S: Final = 10.0
"""In which the process that sees to the turns has seen that both have ended."""

_IDLE: Final = 0.02
"""Part of a turn that what only waits may be ready in: it may wake up, to wait again."""

_FEW_WAITS: Final = 4
"""In a turn of mere waiting: one that was under way, one to be stopped in, and one or two more."""

_VARIATION: Final = 0.4
"""By which part of their mean the lengths of turns vary; both have as long a turn, one after the other."""

_ROUNDS: Final = 20
"""Rounds of looking for processes that were started while the others were being stopped."""


@dataclass(frozen=True, slots=True)
class _Request:
    pids: tuple[int, int]
    answer: str
    """File for when each of them had its turns."""


class Turn(NamedTuple):
    start: float
    """Unix time (s)."""
    end: float
    ready_s: float
    """In which threads of the program, summed, ran or wanted to, and so waited for nothing but a CPU."""
    waits: int = 0
    """How often main threads began to wait; being stopped and woken up to be resumed is some of them."""

    @property
    def is_idle(self) -> bool:
        """True if hardly anything happened but waiting, and few waits were over in it."""
        return self.ready_s < _IDLE * (self.end - self.start) and self.waits <= _FEW_WAITS


@dataclass(frozen=True, slots=True)
class TurnsTaken:
    """The turns that one run had, up to its end."""

    turns: tuple[Turn, ...]

    @property
    def share(self) -> float:
        """The part of the time that it ran in, from its first turn to its end."""
        if not self.turns:
            return 1.0
        start, end = self.turns[0].start, self.turns[-1].end
        return self.active_in(start, end) / (end - start)

    def active_in(self, start: float, end: float) -> float:
        """Seconds of its turns between two times (Unix, s)."""
        return sum(max(0.0, min(end, turn.end) - max(start, turn.start)) for turn in self.turns)

    def waiting_in(self, start: float, end: float) -> float:
        """The part of its turns between two times in which all of it waited, for a GPU, a server or the clock."""
        turns = self._within(start, end)
        length_s = sum(turn.end - turn.start for turn in turns)
        ready_s = sum(min(turn.ready_s, turn.end - turn.start) for turn in turns)
        return 1.0 - ready_s / length_s if length_s else 0.0

    def idle_in(self, start: float, end: float) -> float:
        """The part of those turns in which it did nothing but wait: some waits are longer than a turn."""
        turns = self._within(start, end)
        return sum(turn.is_idle for turn in turns) / len(turns) if turns else 0.0

    def _within(self, start: float, end: float) -> list[Turn]:
        return [turn for turn in self.turns if start <= turn.start and turn.end <= end]


def turns_of(
    sessions: tuple[ProcessSession, ProcessSession],
    place: Path,
    see_end: Callable[[Callable[[], bool]], bool],
) -> tuple[TurnsTaken, TurnsTaken]:
    """Let what runs in ``sessions`` take turns, the first one first, while ``see_end`` waits for their end.

    It is given what tells whether turns are still being taken, and says whether both have ended. ``place`` is a file
    that is not there yet; others lie beside it. Raises what ``see_end`` raises, and :class:`MeasureError` when
    the turns themselves went wrong.
    """
    asked, answered, log = (
        place.with_suffix(suffix) for suffix in (".asked.json", ".json", ".log")
    )
    first, second = sessions
    write_message(asked, _Request((first.pid, second.pid), str(answered)))
    with ProcessSession(
        command_to_run(__name__, asked),
        environment=os.environ,
        folder=place.parent,
        log=log,
        beside=sessions,
        adopts=False,
    ) as taking:
        have_ended = see_end(lambda: taking.wait(0) is None)
        taking.wait(_TIDY_S)
    taken = read_answer(answered, tuple[TurnsTaken, TurnsTaken]) if have_ended else None
    if taken is None:
        raise MeasureError(
            f"base and head could not take turns\n{last_lines(log)}",
            slug="no-turns",
            hint="without --interleave they run one after the other",
        )
    return taken


def main() -> None:
    """Let the processes of the request in the file of the first argument take turns until both have ended."""
    file, parent = sys.argv[1:]
    is_over = False

    def stop(_signum: int, _frame: object) -> None:
        nonlocal is_over
        is_over = True

    for signum in ENDING:
        signal.signal(signum, stop)
    end_with(int(parent))
    request = read_request(Path(file), _Request)
    taken = take_turns(request.pids, until=lambda: is_over)
    write_message(Path(request.answer), taken)


def take_turns(
    pids: Sequence[int], *, turn_s: float = TURN_S, until: Callable[[], bool]
) -> list[TurnsTaken]:
    """Let the trees of two processes run in turn until both roots have ended, or ``until`` says so; then
    nothing is stopped any more.

    When one has ended the other goes on in turns, with as much of the time as before.
    """
    trees = [_Tree(pid) for pid in pids]
    lengths = Random(0)
    try:
        for tree in trees:
            tree.stop()
        order = trees
        while not until() and any(tree.is_alive for tree in trees):
            # Quotas of containers come every 100 ms: in step with them one side would get them all.
            length_s = turn_s * lengths.uniform(1 - _VARIATION, 1 + _VARIATION)
            for tree in order:
                tree.take_turn(length_s)
            order = order[::-1]
    finally:
        for tree in trees:
            tree.resume()
            tree.close()
    return [tree.taken for tree in trees]


class _Tree:
    """A process and all below it, stopped and resumed as one."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        try:
            self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._fd = -1  # It has ended already.
        self._stopped: list[int] = []
        self._ready_us: dict[tuple[int, int], int] = {}
        """Up to now, by pid and thread."""
        self._waits: dict[int, int] = {}
        """Up to now, by pid."""
        self._turns: list[Turn] = []

    @property
    def is_alive(self) -> bool:
        return self._fd >= 0

    @property
    def taken(self) -> TurnsTaken:
        return TurnsTaken(tuple(self._turns))

    def take_turn(self, turn_s: float) -> None:
        """Run for as long. What has ended lets its turn pass."""
        if not self.is_alive:
            time.sleep(turn_s)
            return
        start = time.time()
        self.resume()
        ready, _, _ = select.select([self._fd], [], [], turn_s)
        if ready:
            self.close()
            end = time.time()
            self._turns.append(Turn(start, end, ready_s=end - start))
        else:
            self.stop()
            self._turns.append(Turn(start, time.time(), *self._used_since_last()))

    def stop(self) -> None:
        """The root first: it must not see its child stopped while it runs itself."""
        for _ in range(_ROUNDS):
            seen = set(self._stopped)
            new = [
                process_id
                for process_id in (self._pid, *procfs.descendants(self._pid))
                if process_id not in seen
            ]
            if not self.is_alive or not new:
                break
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            self._stopped += new

    def resume(self) -> None:
        """The root last, as it was stopped first."""
        for pid in reversed(self._stopped):
            _signal(pid, signal.SIGCONT)
        self._stopped.clear()

    def close(self) -> None:
        if self.is_alive:
            os.close(self._fd)
            self._fd = -1

    def _used_since_last(self) -> tuple[float, int]:
        """(Seconds ready, waits) of all but the root: that is the recorder, which has its own reasons to wake up."""
        program = self._stopped[1:]
        ready_us = {
            (pid, tid): sum(it)
            for pid in program
            for tid in procfs.threads(pid)
            if (it := procfs.read_schedule(pid, tid)) is not None
        }
        waits = {
            pid: status.voluntary_switches
            for pid in program
            if (status := procfs.read_status(pid)) is not None
        }
        since = _grown(self._ready_us, ready_us) / 1e6, _grown(self._waits, waits)
        self._ready_us, self._waits = ready_us, waits
        return since


_Key = TypeVar("_Key")


def _grown(before: Mapping[_Key, int], now: Mapping[_Key, int]) -> int:
    return sum(value - before.get(key, 0) for key, value in now.items())


def _signal(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)
