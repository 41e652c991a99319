"""Tell what made head slower: one pair recorded in full, compared, and what of it got worse."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from rlprof.comparison.compare import Comparison, compare
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.outline import GrownFunction, grown_functions
from rlprof.comparison.sides import SideNames
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Program, Side
from rlprof.gate.runner import Runner
from rlprof.model.counters import GPU_SYNCS, WOULD_SYNC
from rlprof.model.report import Report
from rlprof.names import short_path
from rlprof.report.build import build_report
from rlprof.runfile.reader import read_run

SIDES: Final = SideNames(Side.BASE.value, Side.HEAD.value)

WORSE: Final = (Fate.APPEARED, Fate.GREW)
MOST_FUNCTIONS: Final = 3
MOST_ALONE: Final = 5
"""Findings of head alone; they come by cost."""

_MUCH: Final = 0.5
"""Part of the largest growth of a function from which on findings explain it."""


def record_pair(base: Program, head: Program, runner: Runner, outcome: Outcome) -> Outcome:
    """Run both once more, sampled; ``outcome`` with what that shows. Raises ``MeasureError``."""
    pair = len(outcome.pairs()) + 1
    runs = [runner.measure(program, pair, is_full=True) for program in (base, head)]
    comparison = compared(*map(_report, runs))
    return replace(outcome, comparison=comparison, recorded=tuple(run.run_file for run in runs))


def compared(base: Report, head: Report) -> Comparison:
    """Called base and head, as in all that a check says."""
    return compare(base, head, sides=SIDES, is_one_of_many=True)


def _report(run: MeasuredRun) -> Report:
    return build_report(read_run(run.run_file), run_file=str(run.run_file), detailed=True)


def worse_findings(outcome: Outcome) -> list[FindingChange]:
    """Findings that appeared in head, or grew."""
    if outcome.comparison is None:
        return []
    return [finding for finding in outcome.comparison.findings if finding.fate in WORSE]


def in_head_only(outcome: Outcome) -> list[FindingChange]:
    """Those that base has nothing like, where the pair was too short to judge them."""
    found = outcome.comparison
    if found is None or found.rate is not None:
        return []
    alone = [
        finding
        for finding in found.findings
        if finding.fate is Fate.UNCLEAR and finding.base is None
    ]
    return alone[:MOST_ALONE]


def slower_functions(outcome: Outcome) -> tuple[GrownFunction, ...]:
    """Those that clearly take longer, where findings explain little of it."""
    found = outcome.comparison
    if found is None:
        return ()
    grown = grown_functions(found.tree, MOST_FUNCTIONS)
    if grown and _explained_us(outcome) >= _MUCH * grown[0].change_us:
        return ()
    return grown


def _explained_us(outcome: Outcome) -> float:
    """By findings that got worse: per step, or per second of steady time as in the tree."""
    return sum(
        (_middle_us(finding, is_new=True) - _middle_us(finding, is_new=False))
        for finding in worse_findings(outcome)
    )


def _middle_us(change: FindingChange, *, is_new: bool) -> float:
    cost = change.new_cost if is_new else change.base_cost
    if cost is None or change.unit == "run":
        return 0.0
    return sum(cost) / 2 * (1e6 if change.unit == "share" else 1.0)


def reads_of(outcome: Outcome) -> list[MoreReads]:
    """The lines behind the counters that fail, as far as the recorded pair has them."""
    found = outcome.comparison
    if found is None:
        return []
    return [
        row
        for counter in outcome.failing_counters
        for row in more_reads(counter.name, found.base, found.new)
    ]


# --- lines that read tensors more often per step than in base: what a failing counter counted ----

MOST_LINES: Final = 5

_DEVICES: Final[Mapping[str, str]] = {GPU_SYNCS: "gpu", WOULD_SYNC: "cpu"}
"""Devices of the places that a counter counts."""

_SAME: Final = 1.1
"""Times as often as in base that is as often: runs begin and end in the middle of something."""

_RARE: Final = 0.01
"""Reads per step that are none, as for counters."""


class MoreReads(NamedTuple):
    counter: str
    file: str
    line: int
    function: str
    method: str
    base: float
    """Per step; 0 where base has no such line."""
    head: float


class _StablePlace(NamedTuple):
    """Part of a place that stays when lines move."""

    file: str
    function: str
    method: str


class _SourceLine(NamedTuple):
    line: int
    file: str
    per_step: float


def more_reads(counter: str, base: Report, head: Report) -> list[MoreReads]:
    """Those that read most more often first; empty for counters of something else."""
    device = _DEVICES.get(counter)
    if device is None:
        return []
    was, now = _lines(base, device), _lines(head, device)
    rows = [
        MoreReads(
            counter, line.file, line.line, place.function, place.method, before, line.per_step
        )
        for place, lines in now.items()
        for line, before in _more(was.get(place, []), lines)
    ]
    rows.sort(key=lambda row: (row.base - row.head, row.file, row.line, row.method))
    return rows[:MOST_LINES]


def _lines(report: Report, device: str) -> dict[_StablePlace, list[_SourceLine]]:
    """By place, in the order of the file; processes together."""
    often: dict[tuple[_StablePlace, str, int], float] = defaultdict(float)
    for row in report.sync_sites:
        if row.device == device and row.per_step is not None:
            place = _StablePlace(short_path(row.file, report.run.cwd), row.function, row.method)
            often[place, row.file, row.line] += row.per_step
    lines: dict[_StablePlace, list[_SourceLine]] = defaultdict(list)
    for (place, file, line), per_step in sorted(often.items()):
        lines[place].append(_SourceLine(line, file, per_step))
    return lines


def _more(
    base: Iterable[_SourceLine], head: Iterable[_SourceLine]
) -> list[tuple[_SourceLine, float]]:
    """Lines of a function that base has not as often, each with how often its own of base is."""
    left, more = list(base), []
    for line in head:
        same = next((was for was in left if line.per_step <= was.per_step * _SAME + _RARE), None)
        if same is None:
            more.append(line)
        else:
            left.remove(same)
    # What is left of base is the same lines, less often.
    before = [was.per_step for was in left] + [0.0] * len(more)
    return list(zip(more, before, strict=False))
