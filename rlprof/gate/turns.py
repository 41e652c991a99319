"""Two runs that take turns: while one has the machine, the other is stopped. ``main`` is the process that sees to it.

What a shared machine does from second to second then falls on both alike. It is a process of its own, so
that nothing stays stopped when the check is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rlprof.errors import MeasureError
from rlprof.gate.own_process import command_to_run, end_with, write_request
from rlprof.gate.process_session import ProcessSession
from rlprof.gate.program_output import last_lines
from rlprof.recording import procfs

TURN_S: Final = 0.05
"""Short beside what other users of the machine do, long beside refilling a cache and most waits of a step."""

_TIDY_S: Final = 10.0
"""In which the process that sees to the turns has seen that both have ended."""

_ROUNDS: Final = 20
"""Of looking for processes that were started while the others were being stopped."""


@dataclass(frozen=True, slots=True)
class TurnsTaken:
    """What one run had of its time, from the first turn to its end."""

    elapsed_s: float
    active_s: float
    """Of its own turns."""
    ready_s: float
    """In which the main threads of its processes ran or wanted to: they waited for nothing but a CPU."""

    @property
    def share(self) -> float:
        """The part of the time that it ran in."""
        return self.active_s / self.elapsed_s if self.elapsed_s else 1.0

    @property
    def waiting(self) -> float:
        """The least part of its turns in which all of it waited, for a GPU, a network or the clock."""
        return max(0.0, 1.0 - self.ready_s / self.active_s) if self.active_s else 0.0


def turns_of(
    sessions: tuple[ProcessSession, ProcessSession], place: Path, see_end: Callable[[], None]
) -> tuple[TurnsTaken, TurnsTaken]:
    """Let what runs in ``sessions`` take turns, the first one first, while ``see_end`` waits for their end.

    ``place`` is a file that is not there yet; others lie beside it. Raises what ``see_end`` raises, and
    :class:`MeasureError` when the turns themselves went wrong.
    """
    asked, answered, log = (place.with_suffix(it) for it in (".asked.json", ".json", ".log"))
    write_request(asked, {"pids": [it.pid for it in sessions], "answer": str(answered)})
    with ProcessSession(
        command_to_run(__name__, asked),
        environment=os.environ,
        folder=place.parent,
        log=log,
        beside=sessions,
    ) as taking:
        see_end()
        taking.wait(_TIDY_S)
    try:
        first, second = json.loads(answered.read_text(encoding="utf-8"))
        return TurnsTaken(**first), TurnsTaken(**second)
    except (OSError, ValueError, TypeError) as error:
        raise MeasureError(
            f"base and head could not take turns\n{last_lines(log)}",
            slug="no-turns",
            hint="without --interleave they run one after the other",
        ) from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Let the processes of the request in the file of the first argument take turns until both have ended."""
    file, parent = sys.argv[1:] if arguments is None else arguments
    is_over = False

    def stop(_signum: int, _frame: object) -> None:
        nonlocal is_over
        is_over = True

    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, stop)
    end_with(int(parent))
    request = json.loads(Path(file).read_text(encoding="utf-8"))
    taken = take_turns(request["pids"], until=lambda: is_over)
    answer = Path(request["answer"])
    answer.write_text(json.dumps([asdict(it) for it in taken]), encoding="utf-8")


def take_turns(
    pids: Sequence[int], *, turn_s: float = TURN_S, until: Callable[[], bool]
) -> list[TurnsTaken]:
    """Let the trees of two processes run in turn until both roots have ended, or ``until`` says so; then
    nothing is stopped any more.

    When one has ended the other goes on in turns, with as much of the time as before.
    """
    trees = [_Tree(pid) for pid in pids]
    begun = time.monotonic()
    try:
        for tree in trees:
            tree.stop()
        while not until() and any(tree.is_alive for tree in trees):
            for tree in trees:
                tree.take_turn(turn_s, begun)
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
        self._ready_us: dict[int, int] = {}
        """By pid; of what has ended, as much as when last seen."""
        self._active_s = 0.0
        self._elapsed_s = 0.0

    @property
    def is_alive(self) -> bool:
        return self._fd >= 0

    @property
    def taken(self) -> TurnsTaken:
        return TurnsTaken(self._elapsed_s, self._active_s, sum(self._ready_us.values()) / 1e6)

    def take_turn(self, turn_s: float, begun: float) -> None:
        """Run for as long; ``begun`` is when the first turn of all began. What has ended lets its turn pass."""
        if not self.is_alive:
            time.sleep(turn_s)
            return
        start = time.monotonic()
        self.resume()
        ready, _, _ = select.select([self._fd], [], [], turn_s)
        if ready:
            self.close()
        else:
            self.stop()
        now = time.monotonic()
        self._active_s += now - start
        self._elapsed_s = now - begun

    def stop(self) -> None:
        """The root first: it must not see its child stopped while it runs itself."""
        for _ in range(_ROUNDS):
            seen = set(self._stopped)
            new = [it for it in (self._pid, *procfs.descendants(self._pid)) if it not in seen]
            if not self.is_alive or not new:
                break
            for pid in new:
                _signal(pid, signal.SIGSTOP)
            self._stopped += new
        for pid in self._stopped:
            schedule = procfs.read_schedule(pid, pid)
            if schedule is not None:
                self._ready_us[pid] = sum(schedule)

    def resume(self) -> None:
        """The root last, as it was stopped first."""
        for pid in reversed(self._stopped):
            _signal(pid, signal.SIGCONT)
        self._stopped.clear()

    def close(self) -> None:
        if self.is_alive:
            os.close(self._fd)
            self._fd = -1


def _signal(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)
