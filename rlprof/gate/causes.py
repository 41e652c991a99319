"""What made head slower: one pair recorded in full, and compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from rlprof.comparison.compare import Comparison, compare
from rlprof.comparison.html import Occasion, comparison_as_html
from rlprof.comparison.sides import Sides
from rlprof.comparison.svg import comparison_as_svg
from rlprof.gate import cause_words, words
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Program, Side
from rlprof.gate.runner import Runner
from rlprof.model.report import Report
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run

SIDES: Final = Sides(Side.BASE.value, Side.HEAD.value)

_KIND: Final = "One pair, recorded to look for causes; the check judged others"


@dataclass(frozen=True, slots=True)
class Causes:
    comparison: Comparison
    runs: tuple[MeasuredRun, MeasuredRun]
    """Of base and of head; their run files are there until the check ends."""
    outcome: Outcome
    """Of the check, which has judged the rate: what the pair says of it is no second verdict."""

    def page(self) -> str:
        """The comparison as one HTML page, below the verdict of the check."""
        told = cause_words.what_got_worse(replace(self.outcome, comparison=self.comparison))
        lines = tuple(line for it in told for line in it.lines or (it.heading,))
        return comparison_as_html(
            self.comparison, Occasion(_KIND, words.verdict(self.outcome), lines)
        )

    def drawing(self) -> str:
        """The differential flamegraph."""
        return comparison_as_svg(self.comparison)


def look_for_causes(base: Program, head: Program, runner: Runner, outcome: Outcome) -> Causes:
    """Run both once more, sampled; raises ``MeasureError``."""
    pair = len(outcome.pairs()) + 1
    runs = (
        runner.measure(base, pair, is_full=True),
        runner.measure(head, pair, is_full=True),
    )
    was, now = (_report(run) for run in runs)
    return Causes(compared(was, now), runs, outcome)


def compared(base: Report, head: Report) -> Comparison:
    """Called base and head, as in all that a check says."""
    return compare(base, head, sides=SIDES, is_one_of_many=True)


def _report(run: MeasuredRun) -> Report:
    return build_report(read_run(run.run_file), run_file=str(run.run_file), detailed=True)
