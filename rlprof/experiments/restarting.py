"""Try what cannot be switched while a training runs, by pairs of runs of it: one of them is treated from its start."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import ceil, log, sqrt
from pathlib import Path
from statistics import median
from typing import Final

from rlprof.errors import MeasureError
from rlprof.experiments import words
from rlprof.experiments.plan import PlannedFinding, PlannedOption
from rlprof.experiments.turns import FIRST_PAIRS, is_clear, measured_share
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.program import Counting, Program, Side
from rlprof.gate.runner import PARTS, Runner
from rlprof.gate.worktrees.check_folder import check_folder
from rlprof.model.calibration import calibrated
from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Range

TRAINS_S: Final = 16.0
"""Seconds after the first step at which both are ended; each has half of them, also where they do not take turns."""

BETWEEN_RUNS: Final = calibrated(
    0.05,
    unit="logarithm of the ratio of two rates",
    source="benchmarks/mutants.py, seeds 18 (8 programs) and 21 (14), two pairs in turns each on a quiet machine, by hand from what --json keeps: the logarithms of two ratios lie 0.085 "
    "apart in nine of ten, which is 0.06 for one of them; rates of 3 s each, where runs here have twice as much",
    date="2026-11-30",
)
"""By which one pair of runs may be off as a whole, in nine of ten: what parts of its time do not tell by their differences."""

_TIMEOUT_S: Final = 120.0
"""For such a run to come to its first steps."""

WIDTH: Final = 0.1
"""Interval of the saved share that is narrow enough: a pair of runs takes half a minute."""

VARIABLE: Final = "RLPROF_RESTART"
"""Tells agents which treatment to apply."""

TOLD: Final = "RLPROF_RESTART_TOLD"
"""Names the file that they make where there is something to treat."""


@dataclass
class _RunRatios:
    """Ratios of the rates of pairs of runs, and what they say of a treatment."""

    ratios: list[list[float]] = field(default_factory=list)
    """The logarithm of the treated over the untreated rate, of each pair: of parts of its time, or of all of it where these have no rates."""

    def add(self, without: MeasuredRun, treated: MeasuredRun) -> None:
        assert without.sps is not None
        assert treated.sps is not None
        parts = [
            log(with_it / as_it_is)
            for as_it_is, with_it in zip(without.sps_of_parts, treated.sps_of_parts, strict=True)
            if as_it_is and with_it
        ]
        self.ratios.append(parts or [log(treated.sps.median / without.sps.median)])

    @property
    def count(self) -> int:
        return sum(map(len, self.ratios))

    @property
    def are_parts(self) -> bool:
        return self.count > len(self.ratios)

    @property
    def least(self) -> int:
        """Pairs of runs that an interval takes, if the others are as the first."""
        return ceil(FIRST_PAIRS / len(self.ratios[0]))

    @property
    def measured(self) -> MeasuredShare | None:
        # Runs that are no more than one pair each tell by themselves how far apart they are.
        further = BETWEEN_RUNS / sqrt(len(self.ratios)) if self.are_parts else 0.0
        return measured_share([*chain(*self.ratios)], further)

    @property
    def are_enough(self) -> bool:
        measured = self.measured
        return measured is not None and measured.high - measured.low <= WIDTH


@dataclass
class RestartTries:
    """Tries of the findings of one training, each by runs of its own."""

    command: tuple[str, ...]
    script: str
    steps_from: str | None
    tell: Callable[[str], None]
    uses_gpu: bool = False
    """True if its runs come one after the other: a GPU goes on while a process is stopped."""
    experiments: list[Experiment] = field(default_factory=list)

    def run(self, findings: Sequence[PlannedFinding], budget_s: float) -> None:
        """Try one finding after the other until the time is spent."""
        ends_s = time.monotonic() + budget_s
        for number, planned in enumerate(findings):
            option = planned.options[0]
            if time.monotonic() >= ends_s:
                self.tell(words.no_time_for(findings[number:]))
                return
            self.tell(words.tries(planned, option))
            with check_folder() as folder:
                experiment = self._tried(planned, option, ends_s, folder)
            self.experiments.append(experiment)
            self.tell(words.tried(experiment))

    def _tried(
        self, planned: PlannedFinding, option: PlannedOption, ends_s: float, folder: Path
    ) -> Experiment:
        begun_s = time.monotonic()
        pairs = _RunRatios()
        why = why_none = ""
        runner = Runner(
            folder,
            timeout_s=_TIMEOUT_S,
            counting=Counting(function=self.steps_from),
            trains_s=TRAINS_S / 2 if self.uses_gpu else TRAINS_S,
        )
        reached = folder / "reached"
        base = self._program(Side.BASE, {})
        head = self._program(Side.HEAD, {VARIABLE: option.restart, TOLD: str(reached)})
        while not pairs.are_enough and time.monotonic() < ends_s:
            try:
                without, treated = self._pair(runner, base, head, len(pairs.ratios) + 1)
            except MeasureError as error:
                why = error.message.splitlines()[0]
                break
            if not reached.exists():
                break
            pairs.add(without, treated)
            self.tell(words.pair_of_runs(len(pairs.ratios), median(pairs.ratios[-1])))
            pair_s = (time.monotonic() - begun_s) / len(pairs.ratios)
            if begun_s + pairs.least * pair_s > ends_s:
                why_none = words.too_few_pairs(pair_s, pairs.least)
                break
        measured = pairs.measured
        return Experiment(
            finding=planned.finding,
            file=planned.file,
            line=planned.line,
            function=planned.function,
            treatment=option.treatment,
            kind=TreatmentKind(option.kind),
            outcome=_outcome(measured, why, was_reached=reached.exists()),
            predicted=Range(planned.low, planned.high),
            measured=None if why else measured,
            pairs=pairs.count,
            slot_s=TRAINS_S / 2 / (PARTS if pairs.are_parts else 1),
            seconds=time.monotonic() - begun_s,
            note=why or why_none or self._note(was_reached=reached.exists()),
        )

    def _note(self, *, was_reached: bool) -> str:
        return words.by_runs(in_turns=not self.uses_gpu) if was_reached else words.NOTHING_TO_TREAT

    def _pair(
        self, runner: Runner, base: Program, head: Program, number: int
    ) -> tuple[MeasuredRun, MeasuredRun]:
        if not self.uses_gpu:
            return runner.measure_in_turns(base, head, number)
        # Which comes first alternates, so that a drift of the machine cancels out.
        if number % 2:
            without = runner.measure(base, number)
            return without, runner.measure(head, number)
        treated = runner.measure(head, number)
        return runner.measure(base, number), treated

    def _program(self, side: Side, more: dict[str, str]) -> Program:
        return Program(
            side=side,
            command=self.command,
            script=self.script,
            folder=Path.cwd(),
            environment={**os.environ, **more},
            name="treated" if more else "as it is",
        )


def _outcome(measured: MeasuredShare | None, why: str, *, was_reached: bool) -> TryOutcome:
    if why:
        return TryOutcome.REFUSED
    if not was_reached:
        return TryOutcome.NOT_REACHED
    return TryOutcome.MEASURED if is_clear(measured) else TryOutcome.NOT_CLEAR
