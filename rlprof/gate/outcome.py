"""Tell what a check came to: the input of everything that tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rlprof.comparison.compare import Comparison
from rlprof.errors import (
    EXIT_INCONCLUSIVE,
    EXIT_NOT_MEASURED,
    EXIT_OK,
    EXIT_REGRESSION,
    Failure,
    exit_code_of_signal,
)
from rlprof.gate.counters import CounterDifference, RunCounters
from rlprof.gate.decision import Decision, Verdict
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.program import Side
from rlprof.model.profile import Interval
from rlprof.model.recording import Note


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: Verdict
    base: str
    """Base that head was held against: ``origin/main (abc1234)``."""
    head: str
    command: tuple[str, ...]
    script: str = ""
    """Path of the file that head starts; empty where none is known."""
    runs: tuple[MeasuredRun, ...] = ()
    """In the order in which they ran, those of full recordings aside."""
    saved_sps: tuple[float, ...] = ()
    """Steps per second of the baseline file, which then stands for the runs of base."""
    saved_counters: tuple[RunCounters, ...] = ()
    """Counters of its runs too, each with the steps that it made."""
    counters_only: bool = False
    """True if rates were not asked for: runs may be far too short to have one."""
    unit: str = "steps"
    """``updates`` where optimizer steps stand in."""
    decision: Decision | None = None
    """On the rates; None where counters alone decided, or none could be made."""
    counters: tuple[CounterDifference, ...] = ()
    failure: Failure | None = None
    stopped_by: int | None = None
    """The signal that ended the check early; the verdict may have been known by then."""
    comparison: Comparison | None = None
    """Comparison of a pair that was recorded in full; None unless asked for."""
    recorded: tuple[Path, ...] = ()
    """Its run files, of base and head; they are there until the folder of the check goes."""
    notes: tuple[Note, ...] = ()

    @property
    def failing_counters(self) -> tuple[CounterDifference, ...]:
        return tuple(counter for counter in self.counters if counter.fails)

    def runs_of(self, side: Side) -> tuple[MeasuredRun, ...]:
        return tuple(run for run in self.runs if run.side is side)

    def counted(self, side: Side) -> tuple[RunCounters, ...]:
        """By its runs, or those of the baseline."""
        if side is Side.BASE and self.saved_counters:
            return self.saved_counters
        return tuple(run.counters for run in self.runs_of(side))

    def rates(self, side: Side) -> tuple[float, ...]:
        """Steady rates of its runs, or of the baseline."""
        if side is Side.BASE and self.saved_sps:
            return self.saved_sps
        return tuple(run.sps.median for run in self.runs_of(side) if run.sps is not None)

    def sps(self, side: Side) -> Interval | None:
        """The median of its runs, with the lowest and the highest; None without any."""
        rates = self.rates(side)
        return Interval(median(rates), min(rates), max(rates)) if rates else None

    def pairs(self) -> Sequence[tuple[int, float | None, float | None]]:
        """(number, rate of base, rate of head)."""
        numbers = sorted({run.pair for run in self.runs})
        rates = {(run.pair, run.side): run.sps.median for run in self.runs if run.sps is not None}
        return [
            (number, rates.get((number, Side.BASE)), rates.get((number, Side.HEAD)))
            for number in numbers
        ]


def exit_code(outcome: Outcome, *, inconclusive: int = EXIT_INCONCLUSIVE) -> int:
    """``inconclusive``: the code of that verdict, which may count as another one."""
    if outcome.stopped_by is not None:
        return exit_code_of_signal(outcome.stopped_by)
    return {
        Verdict.PASS: EXIT_OK,
        Verdict.REGRESSION: EXIT_REGRESSION,
        Verdict.INCONCLUSIVE: inconclusive,
        Verdict.COULD_NOT_MEASURE: EXIT_NOT_MEASURED,
    }[outcome.verdict]
