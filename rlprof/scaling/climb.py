"""Climb a ladder: record the training with one number of workers after the other."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlprof.errors import RunFileError, exit_code_of_signal
from rlprof.recording.record import record
from rlprof.recording.settings import RecordingSettings
from rlprof.report import wording
from rlprof.scaling.ladder import LadderRun, read_ladder_run

_STOPPED: Final = frozenset(
    map(exit_code_of_signal, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
)
"""Exit codes of a run that somebody stopped: then the rest of the ladder is not wanted either."""


@dataclass(frozen=True, slots=True)
class Climb:
    """A ladder that was climbed, to its end or as far as somebody let it."""

    runs: tuple[LadderRun, ...]
    stopped_with: int | None = None
    """The exit code that goes with the signal that ended the ladder before its time."""


class Ladder:
    """Runs the training with one number of workers after the other, each into its own run file."""

    def __init__(
        self,
        settings: Callable[[int], RecordingSettings],
        *,
        recorded: Callable[[Path], None],
        tell: Callable[[str], None],
    ) -> None:
        """``settings`` makes those of one run, by its number of workers; ``recorded`` gets the file of each run once
        it is over; ``tell`` gets lines for the user.
        """
        self._settings = settings
        self._recorded = recorded
        self._tell = tell

    def climb(self, counts: Sequence[int], *, rounds: int) -> Climb:
        """Run every number of ``counts`` in each round; one that failed is not run again."""
        runs: list[LadderRun] = []
        failed: set[int] = set()
        total = len(counts) * rounds
        for number, (round_number, workers) in enumerate(climbing_order(counts, rounds), start=1):
            if workers in failed:
                continue
            self._tell(f"{_counted(workers)} (run {number} of {total})")
            try:
                run, was_told_to_end = self._run(workers, round_number)
            except KeyboardInterrupt:  # Between the runs: while one runs, it gets the signal.
                return Climb(tuple(runs), exit_code_of_signal(signal.SIGINT))
            runs.append(run)
            if run.exit_code in _STOPPED:
                return Climb(tuple(runs), run.exit_code)
            if was_told_to_end:
                # One that meets the signal in its interpreter's start ends with another code.
                return Climb(tuple(runs), exit_code_of_signal(signal.SIGINT))
            if run.failed:
                failed.add(workers)
        return Climb(tuple(runs))

    def _run(self, workers: int, round_number: int) -> tuple[LadderRun, bool]:
        """The run, and whether it was told to end before its time."""
        settings = self._settings(workers)
        started = time.monotonic()
        outcome = record(settings)
        self._recorded(settings.run_file)
        try:
            run = read_ladder_run(
                settings.run_file,
                workers=workers,
                round_number=round_number,
                exit_code=outcome.exit_code,
            )
        except RunFileError as error:
            run = LadderRun(
                workers=workers,
                round=round_number,
                run_file=str(settings.run_file),
                exit_code=outcome.exit_code,
                why_no_sps=error.message,
            )
        self._tell(f"{_outcome(run)}, {time.monotonic() - started:.1f} s")
        return run, outcome.was_told_to_end


def climbing_order(counts: Sequence[int], rounds: int) -> Iterator[tuple[int, int]]:
    """Yield (round, workers). Every other round goes back down, so that a drift of the machine's
    speed falls on few and on many workers alike.
    """
    for number in range(1, rounds + 1):
        for count in counts if number % 2 else reversed(counts):
            yield number, count


def _outcome(run: LadderRun) -> str:
    if run.failed:
        return f"failed with exit code {run.exit_code}"
    if run.sps is None:
        return f"no rate: {run.why_no_sps}"
    return wording.unglued(f"{wording.rate(run.sps.median)} sps ({wording.rate_range(run.sps)})")


def _counted(workers: int) -> str:
    return f"{workers} worker{'' if workers == 1 else 's'}"
