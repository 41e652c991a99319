"""Tell what head is held against: a program that runs in pairs with it, or a baseline file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rlprof.errors import MeasureError
from rlprof.gate.baseline import Baseline
from rlprof.gate.comparability import Work
from rlprof.gate.counters import CounterDifference, CounterTolerance, RunCounters
from rlprof.gate.decision import Decision, DecisionSettings, RatePair, decide, decide_unpaired
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Program, Side, as_typed, is_python
from rlprof.gate.runner import Runner
from rlprof.model.counters import TOLD_ON_DEMAND
from rlprof.model.recording import Note
from rlprof.names import printable


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Demands on a check."""

    decision: DecisionSettings
    tolerances: tuple[CounterTolerance, ...] = ()
    counters_only: bool = False
    in_turns: bool = False
    """Both runs of a pair at once, now the one, now the other."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the counters that must be judged, and so must be told."""
        return tuple(
            tolerance.name for tolerance in self.tolerances if tolerance.relative is not None
        )

    @property
    def first_pairs(self) -> int:
        """Two show whether a counter is the same in each run, and so is judged to the last event."""
        return 2 if self.counters_only else self.decision.looks[0]


@dataclass(frozen=True, slots=True)
class PairedBase:
    base: Program
    head: Program
    runner: Runner
    in_turns: bool
    """Both runs of a pair at once, now the one, now the other."""

    round_name = "pair"
    runs_a_round = 2
    known_counters = None

    @property
    def name(self) -> str:
        return self.base.name

    def check(self, settings: CheckSettings) -> None:
        """It can be asked for anything."""

    def round(self, number: int) -> Iterator[MeasuredRun]:
        first, second = programs_in_turn(self.base, self.head, number)
        if self.in_turns:
            yield from self.runner.measure_in_turns(first, second, number)
        else:
            yield self.runner.measure(first, number)
            yield self.runner.measure(second, number)

    def work(self, runs: Sequence[MeasuredRun]) -> Work:
        return Work.of(Side.BASE, runs)

    def decide(self, head: Work, base: Work, settings: DecisionSettings) -> Decision:
        pairs = [RatePair(*rates) for rates in zip(base.rates, head.rates, strict=True)]
        return decide(pairs, settings, in_turns=self.in_turns)


def programs_in_turn(base: Program, head: Program, pair: int) -> tuple[Program, Program]:
    """ABBA: what a machine does over time, as to grow warm, falls on both sides alike."""
    return (base, head) if pair % 2 else (head, base)


# --- a baseline file --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedBase:
    """The runs of a baseline file: head runs alone."""

    baseline: Baseline
    name: str
    """The file, for people."""
    head: Program
    runner: Runner

    round_name = "run"
    runs_a_round = 1

    @property
    def known_counters(self) -> Collection[str]:
        return self.baseline.counters_per_step.keys()

    def check(self, settings: CheckSettings) -> None:
        """Raise :class:`MeasureError` where the baseline lacks what is asked for."""
        baseline, name = self.baseline, self.name
        if not settings.counters_only and not baseline.sps:
            raise MeasureError(
                f"the baseline {name} has no rates",
                slug="baseline-without-rates",
                hint="save it again without --counters-only, or compare counters alone: --counters-only",
            )
        if settings.counters_only and not baseline.counters_per_step:
            raise MeasureError(
                f"the baseline {name} has no counters",
                slug="baseline-lacks-counter",
                hint="save it again: of a program that counts its steps, and whose Python has rlprof's agent",
            )
        for counter in settings.asked:
            if counter not in baseline.counters_per_step:
                too = f", with --counter {counter}=0 there too" if counter in TOLD_ON_DEMAND else ""
                raise MeasureError(
                    f"the baseline {name} does not tell {counter}",
                    slug="baseline-lacks-counter",
                    hint=f"save it again{too}",
                )

    def round(self, number: int) -> Iterator[MeasuredRun]:
        yield self.runner.measure(self.head, number)

    def work(self, _runs: Sequence[MeasuredRun]) -> Work:
        """The same whatever has run since."""
        baseline = self.baseline
        return Work(baseline.unit, baseline.source, baseline.steps, baseline.sps, self._counters())

    def decide(self, head: Work, base: Work, settings: DecisionSettings) -> Decision:
        return decide_unpaired(base.rates, head.rates, settings)

    def with_saved_figures(self, outcome: Outcome) -> Outcome:
        """``outcome``, with what was saved beside the runs."""
        remarks = (
            *on_saved_command(self.baseline, self.head),
            *on_unsaved_counters(outcome.counters),
        )
        return replace(
            outcome,
            saved_sps=self.baseline.sps,
            saved_counters=self._counters(),
            notes=(*outcome.notes, *remarks),
        )

    def _counters(self) -> tuple[RunCounters, ...]:
        """Return the counters of each of its runs, with the steps that it made."""
        per_step = self.baseline.counters_per_step
        return tuple(
            RunCounters({counter: of[at] for counter, of in per_step.items()}, steps)
            for at, steps in enumerate(self.baseline.steps)
        )


def on_saved_command(baseline: Baseline, head: Program) -> Iterator[Note]:
    if _without_interpreter(baseline.command) != _without_interpreter(head.redacted_command):
        yield Note(
            "warning",
            "baseline-other-command",
            f"The baseline was saved for another command: {printable(as_typed(baseline.command), 400)}.",
        )


def _without_interpreter(command: Sequence[str]) -> Sequence[str]:
    """Its path is another on each machine."""
    return command[1:] if command and is_python(command[0]) else command


def on_unsaved_counters(counters: Sequence[CounterDifference]) -> Iterator[Note]:
    """Return what head counted and the baseline does not tell."""
    names = sorted(
        counter.name
        for counter in counters
        if counter.base is None and counter.head and counter.name not in TOLD_ON_DEMAND
    )
    if names:
        yield Note(
            "info",
            "counters-not-saved",
            f"The baseline does not tell {', '.join(names)}: not judged until it is saved again.",
        )


Base: TypeAlias = PairedBase | SavedBase
