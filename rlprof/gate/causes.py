"""What made head slower: one pair recorded in full, and compared."""

from __future__ import annotations

from dataclasses import dataclass

from rlprof.comparison.compare import Comparison, compare
from rlprof.comparison.html import comparison_as_html
from rlprof.comparison.svg import comparison_as_svg
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.program import Program
from rlprof.gate.runner import Runner
from rlprof.model.report import Report
from rlprof.report import build_report
from rlprof.runfile.reader import read_run


@dataclass(frozen=True, slots=True)
class Causes:
    comparison: Comparison
    runs: tuple[MeasuredRun, MeasuredRun]
    """Of base and of head; their run files are there until the check ends."""

    def page(self) -> str:
        """The comparison as one HTML page."""
        return comparison_as_html(self.comparison)

    def drawing(self) -> str:
        """The differential flamegraph."""
        return comparison_as_svg(self.comparison)


def look_for_causes(base: Program, head: Program, runner: Runner, pair: int) -> Causes:
    """Run both once more, sampled; raises ``MeasureError``."""
    runs = (
        runner.measure(base, pair, is_full=True),
        runner.measure(head, pair, is_full=True),
    )
    was, now = (_report(run) for run in runs)
    return Causes(compare(was, now), runs)


def _report(run: MeasuredRun) -> Report:
    return build_report(read_run(run.run_file), run_file=str(run.run_file), detailed=True)
