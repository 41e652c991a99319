"""A check in words, the same in every format."""

from __future__ import annotations

from statistics import median
from typing import Final, NamedTuple

from rlprof import units
from rlprof.comparison import words as comparison_words
from rlprof.gate.counters import NEVER_BY_CLOCK, CounterDifference
from rlprof.gate.decision import Decision
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Side
from rlprof.model.profile import Interval
from rlprof.names import printable
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
        names = ", ".join(printable(it.name, _NAME_LIMIT) for it in outcome.failing_counters)
        of_runs = any(it.name in NEVER_BY_CLOCK for it in outcome.failing_counters)
        return f"head counts more {'' if of_runs else 'per step '}than base: {names}."
    if outcome.decision is None:
        return "no counter of head is above what is allowed." if outcome.runs else "nothing ran."
    ratio = f"head makes {times(outcome.decision.ratio)} the {rate_name(outcome)} of base"
    asked, least = (
        wording.percent(it) for it in (outcome.decision.asked, outcome.decision.min_effect)
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
    return "updates per second" if outcome.unit == "updates" else "steps per second"


def sps(outcome: Outcome, side: Side) -> str:
    """``657 sps (640 to 670, 5 runs)``: the lowest and the highest of them."""
    if outcome.counters_only:
        number = len(outcome.counted(side))
        return f"{wording.counted(number, 'run', 'runs')}, rate not judged" if number else NOTHING
    found = outcome.sps(side)
    if found is None:
        return NOTHING
    number = len(outcome.rates(side))
    runs = wording.counted(number, "run", "runs")
    told = runs if number == 1 else f"{wording.rate_range(found)}, {runs}"
    return wording.unglued(f"{wording.rate(found.median)} {wording.rate_unit(outcome)} ({told})")


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
    """What the decision rests on, and what a check like this one can see; empty without a decision."""
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


def counter_cells(it: CounterDifference, outcome: Outcome) -> CounterCells:
    name = printable(it.name, _NAME_LIMIT)
    if it.name not in NEVER_BY_CLOCK or not outcome.runs:
        return CounterCells(name, "per step", counter_value(it.base), counter_value(it.head))
    base, head = (
        NOTHING if value is None else units.count(round(_of_a_run(it.name, outcome, side), 1))
        for value, side in ((it.base, Side.BASE), (it.head, Side.HEAD))
    )
    return CounterCells(name, "a run", base, head)


def _of_a_run(name: str, outcome: Outcome, side: Side) -> float:
    """In a usual run of ``side``, of as many steps as it made."""
    return median(it.per_step.get(name, 0.0) * it.steps for it in outcome.counted(side))


def counter_value(value: float | None) -> str:
    return NOTHING if value is None else units.count(value)


def counter_rows(outcome: Outcome) -> list[CounterDifference]:
    """Those that fail first; what neither side counted is left out."""
    return [it for it in outcome.counters if it.base or it.head or it.fails]


def command(outcome: Outcome) -> str:
    return printable(wording.typed(outcome.command))
