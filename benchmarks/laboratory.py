"""Programs in a slow and a fast version, run in turns without rlprof and recorded once with it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measuring import in_pairs, rlprof_run
from neighbours import Neighbours, wait_for_quiet
from run_ends import QUIET_CORES, Command, pairs_in_turns, run_to_the_end
from until_stopped import RATE, printed_rate, stop_after, timed_steps
from verdict import Measured, Run

LEAST_TRUTH = 0.05
"""A fault that takes less is none."""


@dataclass(frozen=True, slots=True)
class Laboratory:
    """How programs are run and recorded. Each takes ``--seconds`` and prints ``sps``, and ``sps_of_cpu`` where it has one process,
    as its last line, in JSON.
    """

    python: Path
    seconds: float
    """For which each trains, recorded or not; two that take turns take twice as long."""
    rounds: int
    patience_s: float
    until_stopped: bool = False
    """True for programs that take no ``--seconds``, and train until they are stopped: the steps or rates that they print are taken."""

    def measured(
        self, before: Path, after: Path, *, waits: bool, steps: str | None = None
    ) -> Measured:
        """The truth: 1 - time of a step after the fix over that before, pair by pair.

        ``steps`` is a pattern of the lines in which programs print their steps so far, where they train until they are stopped; without
        it their printed rates are taken.
        """
        if self.until_stopped:
            timed = in_pairs(
                self.rounds, partial(self._timed, before, steps), partial(self._timed, after, steps)
            )
        else:
            timed = [
                ((first.told, cores), (second.told, cores))
                for first, second, cores in pairs_in_turns(
                    self.rounds,
                    self._training(before, 2 * self.seconds),
                    self._training(after, 2 * self.seconds),
                    self.patience_s,
                )
            ]
        rates = [told for pair in timed for told, _ in pair]
        # CPU time equals wall time in one process that never waits, and bears a busy machine.
        by_cpu = not waits and all(told.get("sps_of_cpu") for told in rates)
        rate = "sps_of_cpu" if by_cpu else "sps"
        pairs = [tuple(Run(float(told[rate]), others) for told, others in pair) for pair in timed]
        return Measured.of([(first, second) for first, second in pairs])

    def report(self, program: Path, run_file: Path, steps: str | None = None) -> dict[str, Any]:
        """What rlprof says of one run of ``program``, recorded into ``run_file``."""
        wait_for_quiet(QUIET_CORES, self.patience_s)
        recording = rlprof_run(run_file, command=self._training(program).arguments)
        if self.until_stopped:
            told_by = RATE if steps is None else re.compile(steps)
            stop_after(recording, program.parent, 2 * self.seconds, told_by)
        else:
            run_to_the_end(recording, program.parent)
        told = [sys.executable, "-m", "rlprof", "report", str(run_file), "--format", "json"]
        report: dict[str, Any] = json.loads(run_to_the_end(told))
        return report

    def _timed(self, program: Path, steps: str | None) -> tuple[dict[str, Any], float]:
        """What a run tells of itself, and the cores that other programs took meanwhile."""
        wait_for_quiet(QUIET_CORES, self.patience_s)
        others = Neighbours()
        started = self._training(program).arguments, program.parent, self.seconds
        told = printed_rate(*started) if steps is None else timed_steps(*started, steps)
        return told, others.cores

    def _training(self, program: Path, seconds: float | None = None) -> Command:
        """To train for so long, :attr:`seconds` by default, or until it is stopped."""
        length = self.seconds if seconds is None else seconds
        until = [] if self.until_stopped else ["--seconds", f"{length:g}"]
        return Command([str(self.python), program.name, *until], program.parent)


def share(answers: Iterable[bool]) -> str:
    """``7 of 9 (78 %)``."""
    known = list(answers)
    part = f" ({100 * sum(known) / len(known):.0f} %)" if known else ""
    return f"{sum(known)} of {len(known)}{part}"
