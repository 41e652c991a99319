"""A base that runs in pairs with head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rlprof.gate.decision import Decision, DecisionSettings, Pair, decide
from rlprof.gate.judge import CheckSettings, Work, runs_of
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Program, Side
from rlprof.gate.runner import Runner


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
        return Work.of(runs_of(Side.BASE, runs))

    def decide(self, head: Work, base: Work, settings: DecisionSettings) -> Decision:
        pairs = [Pair(*it) for it in zip(base.rates, head.rates, strict=True)]
        return decide(pairs, settings, in_turns=self.in_turns)

    def told(self, outcome: Outcome) -> Outcome:
        return outcome


def programs_in_turn(base: Program, head: Program, pair: int) -> tuple[Program, Program]:
    """ABBA: what a machine does over time, as to grow warm, falls on both sides alike."""
    return (base, head) if pair % 2 else (head, base)
