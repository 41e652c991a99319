"""A comparison in words, the same in every format."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from rlprof import units
from rlprof.comparison.calltree import ChangeTree, FunctionChange
from rlprof.comparison.compare import Comparison, CounterChange, Quantity
from rlprof.comparison.findings import Fate, FindingChange
from rlprof.comparison.outline import OutlineRow
from rlprof.model.finding import Range
from rlprof.model.report import Report
from rlprof.names import printable, short_path
from rlprof.pace.rates import MIN_EFFECT, RateChange
from rlprof.report import wording
from rlprof.report.wording import facts

NOTHING: Final = "–"
MINUS: Final = "−"

FATES: Final = {
    Fate.APPEARED: "appeared",
    Fate.GREW: "grew",
    Fate.SHRANK: "shrank",
    Fate.VANISHED: "gone",
    Fate.UNCHANGED: "unchanged",
    Fate.UNCLEAR: "in one run only",
}
CLAIMED: Final = (Fate.APPEARED, Fate.GREW, Fate.SHRANK, Fate.VANISHED)

_NAME_LIMIT: Final = 80
_CALLER_LIMIT: Final = 40


def verdict(found: Comparison) -> str:
    """Return what the rates say, in a sentence."""
    rate = found.rate
    if rate is None:
        return "The rates of the two runs cannot be compared."
    unit = f"{found.base.throughput.unit} per second"
    sides = found.sides
    measured = f"{sides.new} makes {times(rate)} times the {unit} of {sides.base}{wording.in_brackets(times_range(rate))}"
    if rate.is_clear:
        return f"{measured}."
    return f"No clear change: {measured}, which is {_why_unclear(rate)}."


def _why_unclear(rate: RateChange) -> str:
    if rate.ratio.low <= 1 <= rate.ratio.high:
        return "no more than noise"
    if abs(rate.crowding_ratio - 1) > abs(rate.ratio.median - 1) / 3:
        return "as much as other programs on the machine may explain"
    return (
        f"too little for one run a side (less than {wording.percent(MIN_EFFECT)} is never claimed)"
    )


def findings_verdict(found: Comparison) -> str:
    fates = Counter(change.fate for change in found.findings)
    parts = [
        f"{fates[fate]} {'finding' if fates[fate] == 1 else 'findings'} {word}"
        for fate, word in FATES.items()
        if fate in CLAIMED and fates[fate]
    ]
    return f"{', '.join(parts)}." if parts else "No finding appeared, grew, shrank or went."


def times(rate: RateChange) -> str:
    return f"{rate.ratio.median:.3g}"


def times_range(rate: RateChange) -> str:
    """Empty where both ends read the same."""
    low, high = f"{rate.ratio.low:.3g}", f"{rate.ratio.high:.3g}"
    return "" if low == high else f"{low} to {high}"


def rate_of(report: Report) -> str:
    """``657 sps (640 to 670)``; why there is none otherwise."""
    steady = report.throughput.steady_sps
    if steady is None:
        return wording.lack_of_rate(report.throughput)
    unit = wording.rate_unit(report.throughput)
    return f"{wording.rate(steady.median)}{wording.GLUE}{unit} ({wording.rate_range(steady)})"


def run_of(report: Report) -> str:
    """Return what tells the run from others: label, commit, time."""
    run = report.run
    parts = [run.label, run.git, f"{run.started:%Y-%m-%d %H:%M} UTC", report.run_file]
    return " · ".join(printable(part, _NAME_LIMIT) for part in parts if part)


def command_of(report: Report) -> str:
    return printable(wording.typed(report.run.command))


def cost(tree: ChangeTree, us: float) -> str:
    """``2.06 µs``; of steady time where it is not per step."""
    return small_duration(us) if tree.per == "step" else wording.percent(us / 1e6)


def per(tree: ChangeTree) -> str:
    return "per step" if tree.per == "step" else "of steady time"


def metric(tree: ChangeTree) -> str:
    return "wall time" if tree.metric == "wall" else "CPU time"


def small_duration(us: float) -> str:
    """With three digits, however short: what a step costs is often under a microsecond."""
    if us <= 0:
        return "0"
    if us < 0.9995:
        return f"{us * 1000:.3g}{wording.GLUE}ns"
    if us < 999.5:
        return f"{us:.3g}{wording.GLUE}µs"
    return wording.duration(us)


def change(base: float, new: float) -> str:
    """``−81 %``; ``3.4×`` from three times on; ``new`` and ``gone`` where there is nothing to divide by."""
    if base <= 0:
        return "new" if new > 0 else NOTHING
    if new <= 0:
        return "gone"
    if new >= 3 * base:
        return f"{wording.rate(new / base)}×"
    share = new / base - 1
    if abs(share) < units.LEAST_PERCENT:
        return "±0"
    sign = MINUS if share < 0 else "+"
    return f"{sign}{wording.percent(abs(share))}"


def callers(row: OutlineRow) -> str:
    """``train › … ›`` before the name of a row whose callers were left out; the reader's own first.
    Empty where ``called_from`` tells more.
    """
    if not row.through or row.own_caller is not None:
        return ""
    first = next((frame for frame in row.through if frame.kind == "yours"), row.through[0])
    more = "… › " if len(row.through) > 1 else ""
    return f"{printable(first.label, _CALLER_LIMIT)} › {more}"


def called_from(row: OutlineRow) -> str:
    """``from Env.step (train.py:28)``, for a row with nothing of the reader's own in sight."""
    caller = row.own_caller
    if caller is None:
        return ""
    line = f":{row.box.called_on}" if row.box.called_on else ""
    return f"from {printable(caller.label, _CALLER_LIMIT)} ({place(caller.place)}{line})"


def place(file: str, limit: int = 40) -> str:
    """The end of a path, which tells most."""
    text = printable(file)
    return text if len(text) <= limit else f"…{text[len(text) - limit + 1 :]}"


def finding_name(finding: FindingChange) -> str:
    return printable(finding.shown.finding.detector, _NAME_LIMIT)


def finding_names(found: Comparison, fate: Fate) -> list[str]:
    """Each once."""
    return list(
        dict.fromkeys(finding_name(finding) for finding in found.findings if finding.fate is fate)
    )


def finding_place(finding: FindingChange, found: Comparison) -> str:
    """``train.py:12 step``, of the run that has it; empty when it names no line."""
    report = found.base if finding.new is None else found.new
    locations = finding.shown.finding.locations
    if not locations:
        return ""
    first = locations[0]
    file = place(short_path(first.file, report.run.cwd), 50)
    return f"{file}:{first.line} {printable(first.function, _NAME_LIMIT)}"


def finding_cost(finding: FindingChange, value: Range | None) -> str:
    """Return what the fix would save, as a range."""
    if value is None:
        return NOTHING
    if finding.unit == "share":
        return wording.share_range(value)
    return wording.duration_range(value, small_duration)


def finding_unit(finding: FindingChange) -> str:
    return {"step": "per step", "share": "of steady time", "run": "of the run"}[finding.unit]


def clear_functions(
    tree: ChangeTree, most_working: int, most_waiting: int
) -> tuple[list[FunctionChange], list[FunctionChange]]:
    """Functions whose own time clearly changed: at work, and those that mostly wait."""
    clear = [function for function in tree.functions if function.is_clear]
    working = [change for change in clear if not change.is_waiting]
    waiting = [change for change in clear if change.is_waiting]
    return working[:most_working], waiting[:most_waiting]


class Figure(NamedTuple):
    """A figure of both runs, in words."""

    name: str
    base: str
    new: str
    change: str
    is_clear: bool


def figures(found: Comparison) -> list[Figure]:
    """Quantities and counters per step."""
    return [*map(_of_quantity, found.quantities), *map(_of_counter, found.counters)]


def _of_quantity(quantity: Quantity) -> Figure:
    told = (
        "" if quantity.base is None or quantity.new is None else change(quantity.base, quantity.new)
    )
    return Figure(
        quantity.name,
        _amount(quantity, quantity.base),
        _amount(quantity, quantity.new),
        told,
        is_clear=False,
    )


def _amount(quantity: Quantity, value: float | None) -> str:
    if value is None:
        return NOTHING
    if quantity.unit == "bytes":
        return wording.size(value)
    if quantity.unit == "cores":
        return f"{value:.2f}"
    return small_duration(value)


def _of_counter(counter: CounterChange) -> Figure:
    most = max(counter.base or 0.0, counter.new or 0.0)
    steps, of_what = facts.steps_to_tell(most) if most else (1, "step")
    base, new = (
        NOTHING if value is None else facts.counter_value(counter.name, steps * value)
        for value in (counter.base, counter.new)
    )
    name = f"{facts.counter_name(counter.name)} per {of_what}"
    return Figure(
        name, base, new, change(counter.base or 0.0, counter.new or 0.0), counter.is_clear
    )
