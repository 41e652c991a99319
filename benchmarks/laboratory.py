"""Programs in a slow and a fast version, run in turns without rlprof and recorded once with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from accuracy import QUIET_CORES, run_to_the_end
from measuring import in_pairs, last_json, rlprof_run
from neighbours import Neighbours, wait_for_quiet
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
    rounds: int
    patience_s: float

    def measured(self, before: Path, after: Path, *, waits: bool) -> Measured:
        """The truth: 1 - time of a step after the fix over that before, pair by pair."""
        # CPU time equals wall time in one process that never waits, and bears a busy machine.
        rate = "sps" if waits else "sps_of_cpu"
        runs = (partial(self._timed, program, rate) for program in (before, after))
        return Measured.of(in_pairs(self.rounds, *runs))

    def report(self, program: Path, run_file: Path) -> dict[str, Any]:
        """What rlprof says of one run of ``program``, recorded into ``run_file``."""
        wait_for_quiet(QUIET_CORES, self.patience_s)
        run_to_the_end(rlprof_run(run_file, command=self._command(program)), program.parent)
        told = [sys.executable, "-m", "rlprof", "report", str(run_file), "--format", "json"]
        report: dict[str, Any] = json.loads(run_to_the_end(told))
        return report

    def _timed(self, program: Path, rate: str) -> Run:
        wait_for_quiet(QUIET_CORES, self.patience_s)
        others = Neighbours()
        printed = last_json(run_to_the_end(self._command(program), program.parent))
        return Run(float(printed[rate] or printed["sps"]), others.cores)

    def _command(self, program: Path) -> list[str]:
        return [str(self.python), program.name, "--seconds", f"{self.seconds:g}"]


def share(answers: Iterable[bool]) -> str:
    """``7 of 9 (78 %)``."""
    known = list(answers)
    part = f" ({100 * sum(known) / len(known):.0f} %)" if known else ""
    return f"{sum(known)} of {len(known)}{part}"
