"""Prices and verdicts in words: every renderer says the same of the same report."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final, Protocol

from rlprof import units
from rlprof.model.finding import Confidence, PricedFinding, Range
from rlprof.model.profile import Interval, PhaseKind, Throughput
from rlprof.model.recording import Note
from rlprof.model.report import ProcessRow, Report
from rlprof.names import printable
from rlprof.pricing.ranking import WORTH_LISTING, most_saved, rate_after, saved_together

GLUE: Final = "\ue000"
"""A space that lines must not be broken at, between digits or before a unit: ``unglued`` makes it
one. rich breaks at every real space, the no-break space included; names cannot hold this
character, it is not printable.
"""

CERTAINTY: Final = {
    Confidence.TRIED: "tried: switched on and off in turns while the training ran",
    Confidence.MEASURED: "measured",
    Confidence.BOUNDED: "bounded: the cause is known, what the fix leaves only within limits",
    Confidence.SUSPECTED: "suspected",
}

LEVELS: Final = ("error", "warning", "info")
"""Levels of notes, the gravest first."""

_FIRST_FIXES: Final = 3
"""As many of the first findings as one sentence adds up."""

_NARROW: Final = 0.05
"""Width of a saved share from which on its likely value is told."""

_LEAST_TIMES: Final = 1.05
"""Least factor that is called a gain: a smaller one rounds to no more than the rate now."""

_MOST_TIMES: Final = 25.0
"""Above it, less than 4 % of the time is left: a part that no price knows to within a factor of two."""

_NOTHING_BESIDE: Final = 0.005
"""Part of the high end of a range of time below which its low end is nothing: the high one is not known better."""

_NEARLY_ALL: Final = 0.75
"""Part of a price that is left after other fixes, above which that is not told: the range of a price is wider than the rest."""

_ONE_LINE: Final = 0.9
"""Part of a hot spot on its heaviest line from which on that line is all that is named: the share stands beside it."""

NO_ADVICE: Final = "Nothing was steady before that, so there is no advice."
"""Sentence for a run that crashed."""


def unglued(text: str) -> str:
    return text.replace(GLUE, " ")


def _glued(words: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: words(value).replace(" ", GLUE)


percent: Final = _glued(units.percent)
count: Final = _glued(units.count)
size: Final = _glued(units.size)
flops: Final = _glued(units.flops)
power: Final = _glued(units.power)
duration: Final = _glued(units.duration)


def counted(number: int, one: str, many: str) -> str:
    """``1 window``, ``3 windows``."""
    return f"{number} {one if number == 1 else many}"


def in_brackets(text: str) -> str:
    """`` (text)``; empty where there is none."""
    return f" ({text})" if text else ""


def command(report: Report) -> str:
    """The target's command as one would type it, without the folder of the interpreter."""
    program, *arguments = report.run.command or ("",)
    return printable(shlex.join([PurePosixPath(program).name, *arguments]))


def typed(command: Sequence[str]) -> str:
    """As one would type it, without the interpreter."""
    program, *arguments = command or ("",)
    name = PurePosixPath(program).name
    is_python = name.startswith(("python", "pypy"))
    return shlex.join(arguments if is_python else [name, *arguments])


def share_range(share: Range) -> str:
    """``82 to 87 %``; one figure when both ends read the same; ``up to 40 %`` from nothing."""
    if share.low < units.LEAST_PERCENT:
        return f"up to {percent(share.high)}"
    return percents(*share)


def percents(least: float, most: float) -> str:
    """``82 to 87 %``; one figure when both ends read the same."""
    low, high = percent(least), percent(most)
    return high if low == high else f"{low.removesuffix(f'{GLUE}%')} to {high}"


def ends(low: str, high: str) -> str:
    """``3.9 to 4.0``; one figure when both ends read the same."""
    return low if low == high else f"{low} to {high}"


def between(values: Range, unit: str) -> str:
    """``1 240 to 1 310 sps``, to three significant digits: a price is not known better."""
    low, high = (count(float(f"{value:.3g}")) for value in values)
    return f"{ends(low, high)}{GLUE}{unit}"


def duration_range(us: Range, words: Callable[[float], str] = duration) -> str:
    """``1.2 to 1.4 s``, ``850 ms to 2.1 s``; one figure when both ends read the same; ``up to 2.1 s`` where the low
    end is nothing beside the high one.
    """
    low, high = map(words, us)
    if us.low < _NOTHING_BESIDE * us.high:
        return f"up to {high}"
    number, *units_of_low = low.split(GLUE)
    has_one_unit = len(units_of_low) == 1 and units_of_low == high.split(GLUE)[1:]
    return ends(number if has_one_unit and low != high else low, high)


def rate(sps: float) -> str:
    """``1 240``: three significant digits, as no rate is known better."""
    return count(float(f"{sps:.3g}"))


def rate_range(sps: Interval) -> str:
    """``1 190 to 1 310``; one figure when both ends read the same."""
    return ends(rate(sps.low), rate(sps.high))


def of_what(priced: PricedFinding) -> str:
    """Return what the saved share is a share of."""
    return "the run" if priced.finding.phase is PhaseKind.START_UP else "steady time"


def share_saved(priced: PricedFinding) -> str:
    """``15 to 31 % of steady time, likely 23 %``, and what of it is left where others are fixed before."""
    return (
        f"{share_range(priced.saved_share)} of {of_what(priced)}{likely(priced)}{besides(priced)}"
    )


def likely(priced: PricedFinding) -> str:
    """``, likely 23 %``; empty where nothing is sure to be saved, where the range says as much, and where a try has measured it."""
    low, high = priced.saved_share
    if priced.tried_share is not None or low < WORTH_LISTING or round(high - low, 6) < _NARROW:
        return ""
    return f", likely {percent(priced.likely_share)}"


def besides(priced: PricedFinding) -> str:
    """``, up to 3.1 % after the fixes before it``; empty where those save other time, or little of the same."""
    if priced.besides is None or priced.besides.high > _NEARLY_ALL * priced.saved_share.high:
        return ""
    left = share_range(priced.besides) if priced.besides.high else "nothing"
    return f", {left} after the fixes before it"


def seconds_saved(priced: PricedFinding) -> str:
    """``1.2 to 1.4 s``, ``up to 2.1 s``: of this run."""
    return duration_range(priced.saved_us)


def price_of_seen(priced: PricedFinding) -> str:
    """Return what a finding that is not worth a place in the list would save."""
    most = priced.added_share.high
    counted_in = "" if priced.counted_in is None else f"counted in finding {priced.counted_in}"
    if most < units.LEAST_PERCENT:
        return counted_in or "not priced"
    saves = f"saves at most {percent(most)}"
    return f"{saves} besides what is {counted_in}" if counted_in else saves


def named(role: str, pids: Sequence[int]) -> str:
    """Processes of one role: ``main 1000``, ``8 workers``."""
    return f"{role} {pids[0]}" if len(pids) == 1 else f"{len(pids)} {role}s"


def gravest_first(notes: Iterable[Note]) -> list[Note]:
    weight = {level: number for number, level in enumerate(LEVELS)}
    return sorted(notes, key=lambda note: weight.get(note.level, len(weight)))


def known_causes(report: Report) -> list[PricedFinding]:
    """Return the known causes of lost steady time."""
    return [
        priced for priced in all_known(report) if priced.finding.phase is not PhaseKind.START_UP
    ]


def paid_once(report: Report) -> list[PricedFinding]:
    """Known causes of a long start-up: they have seconds, and make no step faster."""
    return [priced for priced in all_known(report) if priced.finding.phase is PhaseKind.START_UP]


def all_known(report: Report) -> list[PricedFinding]:
    """Known causes of both, in their order: what is paid once comes last."""
    return [
        finding
        for finding in report.findings
        if finding.finding.confidence is not Confidence.SUSPECTED
    ]


def is_spread_out(priced: PricedFinding) -> bool:
    """Tell whether no one line has most of what the finding is about."""
    found = priced.finding
    return bool(found.locations) and found.locations[0].share < _ONE_LINE * found.seen_share


def share_of_spot(priced: PricedFinding) -> str:
    """Return the share of the critical time that the lines of a hot spot take together."""
    found = priced.finding
    heaviest = found.locations[0].share if found.locations else 0.0
    return percent(max(found.seen_share, heaviest))


def facts_of_spot(priced: PricedFinding, report: Report) -> list[str]:
    """Return what is known of a hot spot besides its share, and the rate that no change of it can exceed."""
    facts = [printable(fact) for fact in priced.finding.evidence[1:]]
    if priced.sps_after is not None:
        most = rate(priced.sps_after.high)
        facts.append(f"if it took no time: at most {most} {rate_unit(report.throughput)}")
    return facts


def hot_lines(report: Report) -> list[PricedFinding]:
    """Findings that only say where time goes, not why."""
    return [f for f in report.findings if f.finding.confidence is Confidence.SUSPECTED]


def missed(report: Report) -> list[ProcessRow]:
    """Processes that should have been sampled and were not."""
    return [row for row in report.processes if not row.sampled and not row.is_left_out]


def has_samples(report: Report) -> bool:
    return bool(report.flame.frames) and report.flame.frames[0].wall_us > 0


def speed(report: Report) -> str:
    """``657 sps``; empty when it is not known."""
    steady = report.throughput.steady_sps
    return f"{rate(steady.median)}{GLUE}{rate_unit(report.throughput)}" if steady else ""


def price_after(priced: PricedFinding, report: Report) -> str:
    """``1 240 to 1 310 sps``; ``at least 321 sps`` where next to nothing may be left, of which nobody can say how
    little; empty where no rate is promised.
    """
    after, now = priced.sps_after, report.throughput.rate_to_price
    if after is None:
        return ""
    unit = rate_unit(report.throughput)
    if now and after.high > max(_MOST_TIMES * now, 2 * after.low):
        return f"at least {rate(after.low)}{GLUE}{unit}"
    return between(after, unit)


class Timed(Protocol):
    """Object that has a rate of steps: a throughput, a run."""

    @property
    def unit(self) -> str: ...


def rate_unit(timed: Timed) -> str:
    """``sps``, or ``updates/s`` or ``iterations/s`` where these stand in for steps that nothing counted."""
    return "sps" if timed.unit in ("steps", "none") else f"{timed.unit}/s"


def rate_of_runs(sps: Interval, runs: int, timed: Timed) -> str:
    """``657 sps (640 to 670, 5 runs)``: the median of them, with the lowest and the highest."""
    number = counted(runs, "run", "runs")
    told = number if runs == 1 else f"{rate_range(sps)}, {number}"
    return unglued(f"{rate(sps.median)} {rate_unit(timed)} ({told})")


def lack_of_rate(throughput: Throughput) -> str:
    """Return why a run has no steady rate, in a few words; empty when it has one."""
    if throughput.steady_sps is not None:
        return ""
    if throughput.unit == "none":
        return "nothing counted steps"
    if not throughput.total_steps:
        return "the program printed too few rates to tell a steady one"
    return f"{count(throughput.total_steps)} {throughput.unit} in too short a time to tell a steady rate"


def lack_of_steps(throughput: Throughput) -> str:
    """The same of steps per second: what stands in for steps does not tell them."""
    if throughput.steady_sps is None or throughput.unit == "steps":
        return lack_of_rate(throughput)
    return f"nothing counted steps; {rate(throughput.steady_sps.median)} {rate_unit(throughput)}"


def advice(report: Report) -> str:
    """Return what to do first, in one sentence; or that there is nothing, and by which measure."""
    if report.crash is not None and report.crash.before_steady:
        return NO_ADVICE
    known = known_causes(report)
    if known:
        return f"Fixing the first finding {_gain(known[0], report)}."
    if once := paid_once(report):
        return f"No known cause makes the steps slower; the start-up could be {seconds_saved(once[0])} shorter."
    if not has_samples(report):
        return "No samples were taken, so nothing can be said."
    if hot_lines(report):
        return "No known cause of lost time was found; the hottest lines are below."
    return (
        "Nothing worth fixing was found: no known cause costs "
        f"{percent(WORTH_LISTING)} of the time or more."
    )


def verdict(report: Report) -> str:
    """Return what the run is bound by, and how much faster the first fixes make it, in one sentence."""
    bound = f"bound by {printable(report.bound.text)}" if report.bound.text else ""
    gain = first_gain(report)
    if gain:
        return _sentence("; ".join(part for part in (bound, gain) if part))
    return " ".join(part for part in (_sentence(bound), advice(report)) if part)


def first_gain(report: Report) -> str:
    """``fixing the first two gives 2.1× to 2.4×``; empty where the first finding makes no steps faster."""
    steady = report.throughput.steady_sps is not None
    first = list(takewhile(lambda priced: steady and priced.sps_after, known_causes(report)))[
        :_FIRST_FIXES
    ]
    times = rate_after(1.0, saved_together(first), most_saved(first))
    if times.high < _LEAST_TIMES:
        return ""
    which = ("finding", "two", "three")[len(first) - 1]
    return f"fixing the first {which} gives {times_range(times)}"


def times_range(times: Range) -> str:
    """``2.1× to 2.4×``; one figure when both ends read the same; ``up to 1.3×`` from nothing; ``at least
    8.0×`` where next to nothing may be left, of which nobody can say how little.
    """
    low, high = (f"{time:.0f}×" if time >= 10 else f"{time:.1f}×" for time in times)
    if times.low < _LEAST_TIMES:
        return f"up to {high}"
    if times.high > max(_MOST_TIMES, 2 * times.low):
        return f"at least {low}"
    return ends(low, high)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _gain(priced: PricedFinding, report: Report) -> str:
    if after := price_after(priced, report):
        return f"gives {after}"
    return f"saves {share_saved(priced)}"
