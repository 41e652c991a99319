"""A check in words, the same in every format."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final, NamedTuple

from rlprof import units
from rlprof.comparison import words as comparison_words
from rlprof.comparison.compare import Comparison
from rlprof.comparison.findings import FindingChange
from rlprof.comparison.outline import GrownFunction
from rlprof.gate.causes import MoreReads, in_head_only, reads_of, slower_functions, worse_findings
from rlprof.gate.counters import NEVER_BY_CLOCK, CounterDifference
from rlprof.gate.decision import Decision, Verdict
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome
from rlprof.gate.program import Side
from rlprof.model.profile import Interval
from rlprof.names import printable, short_path
from rlprof.report import wording

NOTHING: Final = "–"

_NAME_LIMIT: Final = 80
_TEXT_LIMIT: Final = 1_000


def verdict(outcome: Outcome) -> str:
    """The first line of every document."""
    name = outcome.verdict.value.capitalize()
    return wording.unglued(f"{name}: {_because(outcome)}")


def _because(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return f"{printable(first_line(outcome.failure.message), _TEXT_LIMIT)}."
    if outcome.failing_counters:
        names = ", ".join(
            printable(counter.name, _NAME_LIMIT) for counter in outcome.failing_counters
        )
        of_runs = any(counter.name in NEVER_BY_CLOCK for counter in outcome.failing_counters)
        return f"head counts more {'' if of_runs else 'per step '}than base: {names}."
    if outcome.decision is None:
        return "no counter of head is above what is allowed." if outcome.runs else "nothing ran."
    ratio = f"head makes {times(outcome.decision.ratio)} the {rate_name(outcome)} of base"
    asked, least = (
        wording.percent(share) for share in (outcome.decision.asked, outcome.decision.min_effect)
    )
    told = {
        Verdict.PASS: f"it is not slower by {asked} or more",
        Verdict.REGRESSION: f"it is slower by more than {least}, in fresh runs too",
        Verdict.INCONCLUSIVE: f"the difference lies at the limit of {asked}"
        if outcome.decision.is_at_limit
        else f"the runs vary too much to tell a slowdown of {asked}",
    }
    return ": ".join([ratio, *filter(None, [told.get(outcome.verdict)])]) + "."


def first_line(text: str) -> str:
    """Behind it is what the program printed."""
    return next(iter(text.splitlines()), "")


def times(ratio: Interval) -> str:
    """``0.90 times (0.88 to 0.92)``; without the range where it is not known."""
    middle = f"{ratio.median:.3f} times"
    if not 0 < ratio.low <= ratio.high < float("inf"):
        return middle
    return f"{middle} ({ratio.low:.3f} to {ratio.high:.3f})"


def rate_name(outcome: Outcome) -> str:
    return f"{outcome.unit} per second"


def sps(outcome: Outcome, side: Side) -> str:
    """``657 sps (640 to 670, 5 runs)``: the lowest and the highest of them."""
    if outcome.counters_only:
        number = len(outcome.counted(side))
        return f"{wording.counted(number, 'run', 'runs')}, rate not judged" if number else NOTHING
    found = outcome.sps(side)
    if found is None:
        return NOTHING
    return wording.rate_of_runs(found, len(outcome.rates(side)), outcome)


def rate(value: float | None) -> str:
    return NOTHING if value is None else wording.unglued(wording.rate(value))


def change(base: float | None, head: float | None) -> str:
    if base is None or head is None:
        return NOTHING
    return wording.unglued(comparison_words.change(base, head))


def run_in_words(run: MeasuredRun) -> str:
    what = "no rate" if run.sps is None else f"{rate(run.sps.median)} {wording.rate_unit(run)}"
    return f"{run.side.value}: {what} ({run.wall_s:.1f} s)"


def reasons(outcome: Outcome) -> list[str]:
    """Return what the decision rests on, and what a check like this one can see; empty without a decision."""
    decision = outcome.decision
    if decision is None:
        return []
    if outcome.verdict is Verdict.INCONCLUSIVE:
        return [*decision.reasons]  # What it can see is why, so it is among them.
    return [*decision.reasons, _resolution(outcome, decision)]


def _resolution(outcome: Outcome, decision: Decision) -> str:
    found = wording.unglued(
        f"With runs that vary like these, a slowdown of {wording.percent(decision.mde)} is found nine "
        f"times in ten ({_runs(outcome, decision.pairs)}; two runs of the same program differ by "
        f"{wording.percent(decision.noise)})."
    )
    return " ".join(filter(None, (found, decision.remedy)))


def _runs(outcome: Outcome, pairs: int) -> str:
    if outcome.saved_sps:
        return wording.counted(pairs, "run", "runs")
    return wording.counted(pairs, "pair", "pairs")


class CounterCells(NamedTuple):
    name: str
    unit: str
    """``per step``; ``a run`` for what belongs to a run and not to its steps."""
    base: str
    head: str


def counter_cells(counter: CounterDifference, outcome: Outcome) -> CounterCells:
    name = printable(counter.name, _NAME_LIMIT)
    if counter.name not in NEVER_BY_CLOCK or not outcome.runs:
        return CounterCells(
            name, "per step", counter_value(counter.base), counter_value(counter.head)
        )
    base, head = (
        NOTHING if value is None else units.count(round(_of_a_run(counter.name, outcome, side), 1))
        for value, side in ((counter.base, Side.BASE), (counter.head, Side.HEAD))
    )
    return CounterCells(name, "a run", base, head)


def _of_a_run(name: str, outcome: Outcome, side: Side) -> float:
    """In a usual run of ``side``, of as many steps as it made."""
    return median(
        counters.per_step.get(name, 0.0) * counters.steps for counters in outcome.counted(side)
    )


def counter_value(value: float | None) -> str:
    return NOTHING if value is None else units.count(value)


def counter_rows(outcome: Outcome) -> list[CounterDifference]:
    """Those that fail first; what neither side counted is left out."""
    return [
        counter for counter in outcome.counters if counter.base or counter.head or counter.fails
    ]


def command(outcome: Outcome) -> str:
    return printable(wording.typed(outcome.command))


# --- causes, from a pair that was recorded in full --------------------------------------------

_TOLD_INSTEAD: Final = "no-common-rate"
"""Slug of the remark that ``_why_no_rate`` says."""
_ALL_ALIKE: Final = "all-alike"
"""Slug of the remark that keeps functions from being named, though it warns of nothing."""

_WHAT_TO_DO: Final = (
    "One pair shows only what is larger than its own noise: on a quieter machine, or with longer runs, that "
    "is more. Where its time went is on the page that --artifacts DIR writes."
)


class HeadedLines(NamedTuple):
    """A sentence, and what it begins."""

    heading: str
    lines: tuple[str, ...] = ()


def causes(outcome: Outcome) -> list[HeadedLines]:
    """Return what got worse, and what to know of the pair that shows it; empty where none was recorded."""
    found = outcome.comparison
    if found is None:
        return []
    worse = found_regressions(outcome)
    told = _of_the_pair(outcome, found)
    return [*worse, HeadedLines("What to know of that pair:", told)] if told else worse


def found_regressions(outcome: Outcome) -> list[HeadedLines]:
    """Without what to know of the pair, for a page that says it already."""
    found = outcome.comparison
    return [] if found is None else list(_found_regressions(outcome, found))


def _found_regressions(outcome: Outcome, found: Comparison) -> Iterator[HeadedLines]:
    reads = [read(more, found) for more in reads_of(outcome)]
    if reads:
        yield HeadedLines("Lines of head that read tensors more often per step:", tuple(reads))
    findings = tuple(finding(finding_change, found) for finding_change in worse_findings(outcome))
    functions = tuple(function(grown, found) for grown in slower_functions(outcome))
    alone = tuple(
        finding_in_head(finding_change, found) for finding_change in in_head_only(outcome)
    )
    if found.rate is None:
        yield HeadedLines(f"{_why_no_rate(found)}:" if alone else f"{_why_no_rate(found)}.", alone)
    if findings:
        yield HeadedLines("What got worse, from one pair recorded in full:", findings)
    if functions:
        yield HeadedLines(_above_functions(found, has_findings=bool(findings)), functions)
    elif found.rate is not None and not findings:
        yield HeadedLines(_nothing(found))


def _above_functions(found: Comparison, *, has_findings: bool) -> str:
    if found.rate is None:
        return "What has clearly more of the time in that pair:"
    if has_findings:
        return "What clearly takes longer in the same pair:"
    return "No finding appeared or grew in the pair that was recorded in full, but this clearly takes longer:"


def _nothing(found: Comparison) -> str:
    more = "" if found.tree is None else ", and no function clearly takes longer"
    return f"No finding appeared or grew in the pair that was recorded in full{more}."


def _of_the_pair(outcome: Outcome, found: Comparison) -> tuple[str, ...]:
    """The gravest that it warns of; where it names no cause, what may be the reason."""
    is_named = any(regression.lines for regression in found_regressions(outcome))
    remarks = [
        note.text
        for note in found.notes
        if (note.level != "info" and note.slug != _TOLD_INSTEAD)
        or (note.slug == _ALL_ALIKE and not is_named)
    ]
    is_silent = found.rate is not None and not is_named
    return (*remarks[:1], *([_WHAT_TO_DO] if is_silent else []))


def _why_no_rate(found: Comparison) -> str:
    """Return why nothing is told per step, without the end of the sentence."""
    throughputs = found.base.throughput, found.new.throughput
    lacks = [
        f"{side}: {lack}"
        for side, lack in zip(("base", "head"), map(wording.lack_of_rate, throughputs), strict=True)
        if lack
    ]
    why = wording.unglued(f" ({'; '.join(lacks)})") if lacks else ""
    if any(
        throughput.steady_sps is None and throughput.unit != "none" for throughput in throughputs
    ):
        return f"The pair that was recorded in full was too short to compare{why}"
    return f"The rates of the pair that was recorded in full cannot be compared{why}"


def finding(change: FindingChange, found: Comparison) -> str:
    """``appeared: eager-log-format, train.py:12 step``."""
    cost = comparison_words.finding_cost(change, change.new_cost)
    unit = comparison_words.finding_unit(change)
    return wording.unglued(
        f"{comparison_words.FATES[change.fate]}: {_named(change, found)} (its fix saves {cost} {unit})"
    )


def finding_in_head(change: FindingChange, found: Comparison) -> str:
    """``in head only: eager-log-format, train.py:12 step``."""
    return wording.unglued(f"in head only: {_named(change, found)}")


def _named(change: FindingChange, found: Comparison) -> str:
    parts = comparison_words.finding_name(change), comparison_words.finding_place(change, found)
    return ", ".join(part for part in parts if part)


def function(grown: GrownFunction, found: Comparison) -> str:
    """``grew: Recorder._on_step, train.py:28, in deepcopy, +530 µs per step (not seen in base)``."""
    tree = found.tree
    assert tree is not None, "functions come from a tree"
    parts = [printable(grown.label, _NAME_LIMIT)]
    if grown.place:
        line = f":{grown.line}" if grown.line else ""
        parts.append(f"{comparison_words.place(grown.place, 50)}{line}")
    if grown.inside:
        parts.append(f"in {printable(grown.inside, _NAME_LIMIT)}")
    waiting = ", mostly waiting" if grown.waits else ""
    cost = comparison_words.cost(tree, grown.change_us)
    parts.append(f"+{cost} {comparison_words.per(tree)}{waiting}")
    # Not "new": what is too brief is never sampled.
    was = comparison_words.cost(tree, grown.base_us) if grown.base_us else "not seen"
    return wording.unglued(f"grew: {', '.join(parts)} ({was} in base)")


def read(more: MoreReads, found: Comparison) -> str:
    """``would_sync: train.py:26 item (2 per step, none in base)``."""
    path = comparison_words.place(short_path(more.file, found.new.run.cwd), 50)
    was = f"{_often(more.base)} in base" if more.base else "none in base"
    return wording.unglued(
        f"{more.counter}: {path}:{more.line} {printable(more.method, _NAME_LIMIT)} "
        f"({_often(more.head)} per step, {was})"
    )


def _often(per_step: float) -> str:
    return wording.count(float(f"{per_step:.2g}"))
