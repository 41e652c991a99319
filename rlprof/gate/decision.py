"""Tell whether head is slower than base, how sure that is, and whether more runs are needed to tell.

A failure must be reached twice. Pairs are looked at when there are 5, 8 and 12 of them (by default), until
the interval of the ratio lies on one side of the smallest slowdown that matters; when it lies beyond,
the same is asked again of fresh pairs alone, and of all together. Each end of the intervals of the first series is
wrong in at most ``SERIES_ERROR`` of all series, however often it is looked at, and in ``CONFIRMING_ERROR`` for
fresh ones; so both are in at most the product, and that only where the true slowdown is as large as the
smallest that matters, or nearly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import ceil, exp, inf, isfinite, log, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from rlprof.errors import UsageError
from rlprof.gate.statistics import Shift, paired_shift, unpaired_shift
from rlprof.model.profile import Interval
from rlprof.units import percent

MIN_EFFECT: Final = 0.05
"""Slowdown that is never called one: processes started again differ by as much in their layout."""

NOISE_FACTOR: Final = 2.0
"""Nor is one of fewer standard deviations of what a check of a program with itself comes out at."""

MIN_PAIRS: Final = 5
"""With fewer, no order of the runs is rare enough (Wilcoxon: 1/32 with five pairs, 1/16 with four)."""

MAX_PAIRS: Final = 12
"""In each of both series: finds 10 % in noise of 3 % (``benchmarks/gate.py``)."""

SERIES_ERROR: Final = 0.1
"""Probability with which any look of a series may be wrong at one end, shared by its looks alike."""

CONFIRMING_ERROR: Final = 0.3
"""The same for the fresh pairs after a regression was seen. With the error of the first 79 % of slowdowns by 10 %
were found in noise of 4 %, and 87 % with this one; no check of a program with itself fails with either."""

_GROWTH: Final = 1.5
"""From a look to the next: a few more pairs hardly tell more, and each look costs certainty."""

_BLIND: Final = 2.0
"""Times the slowdown that matters: a pass whose minimum detectable effect is beyond says how to see more."""

_POWER: Final = 0.935
"""Probability with which the first series finds a slowdown of the minimum detectable effect, so that both do
nine times in ten: fresh pairs, of which less is asked, do in 0.98."""

_POWER_OF_RUNS: Final = 0.955
"""The same where as much is asked of the second series (its square, less what the steps between the levels cost)."""

_SPREAD_OFF: Final = 1.2
"""By how much the spread of twelve pairs may come out too high: its standard deviation is a fifth."""


class Verdict(Enum):
    PASS = "pass"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    COULD_NOT_MEASURE = "could not measure"
    """Of a check whose runs come to no decision."""


def least_error(pairs: int) -> float:
    """Probability that chance alone makes head slower in all of so many pairs: nothing they show is rarer."""
    return 0.5**pairs


class RatePair(NamedTuple):
    """Steady steps per second of two runs, one after the other on one machine."""

    base: float
    head: float


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    min_effect: float | None = None
    """Smallest slowdown that matters (0.05 is 5 %); None for the larger of ``MIN_EFFECT`` and twice the noise."""
    min_pairs: int = MIN_PAIRS
    max_pairs: int = MAX_PAIRS
    """Most pairs of a series. A regression takes a second one."""

    def __post_init__(self) -> None:
        if self.min_effect is not None and not 0 < self.min_effect < 1:
            raise UsageError(
                f"a minimum effect of {100 * self.min_effect:g} % is not between 0 and 100 %",
                slug="bad-min-effect",
                hint="give a part of the rate, as in --min-effect 5%",
            )
        if not MIN_PAIRS <= self.min_pairs <= self.max_pairs:
            raise UsageError(
                f"{self.min_pairs} to {self.max_pairs} runs a side are too few, or the wrong way round",
                slug="bad-pairs",
                hint=f"give at least {MIN_PAIRS} with --pairs, and no fewer with --max-pairs: "
                "fewer runs cannot tell a slowdown from noise",
            )

    @property
    def looks(self) -> tuple[int, ...]:
        """Numbers of pairs at which a series is looked at. Each can decide: a look that could not, at its share
        of the error, would only take that share from the others.
        """
        looks = [self.min_pairs]
        while looks[-1] < self.max_pairs:
            looks.append(min(self.max_pairs, ceil(_GROWTH * looks[-1])))
        while least_error(looks[0]) > SERIES_ERROR / len(looks):
            del looks[0]
        return tuple(looks)

    @property
    def error(self) -> float:
        """Probability with which one look may be wrong at one end of its interval."""
        return SERIES_ERROR / len(self.looks)

    @property
    def confirming_error(self) -> float:
        """The same for a look at the fresh pairs after a regression was seen."""
        return CONFIRMING_ERROR / len(self.looks)


@dataclass(frozen=True, slots=True)
class Decision:
    state: Verdict
    """``INCONCLUSIVE`` while ``more`` are wanted."""
    ratio: Interval
    """Rate of head over that of base, of all pairs. ``low`` is 0 and ``high`` infinite when they are too few."""
    asked: float
    """Slowdown that matters: a pass has shown that there is none as large."""
    min_effect: float
    """Slowdown beyond which the interval had to lie for a failure: more than ``asked`` in much noise."""
    mde: float
    """Slowdown that a check in such noise finds nine times in ten (minimum detectable effect)."""
    noise: float
    """Standard deviation of the ratio of one pair."""
    pairs: int
    """Pairs that the decision rests on."""
    more: int
    """Further pairs that are needed; 0 when it is decided."""
    is_confirming: bool
    """True if a regression was seen, and fresh pairs are asked, or were, if they see it too."""
    reasons: tuple[str, ...]
    remedy: str = ""
    """How to find smaller slowdowns, where a pass is one of a check that saw little."""

    @property
    def is_at_limit(self) -> bool:
        """True if it is clear that head is slower, and only on which side of ``asked`` is not: the noise is not why."""
        is_narrow = 1 - 2 * self.asked < self.ratio.low and self.ratio.high < 1
        return self.state is Verdict.INCONCLUSIVE and is_narrow and self.min_effect <= self.asked


def decide(
    pairs: Sequence[RatePair], settings: DecisionSettings, *, in_turns: bool = False
) -> Decision:
    """The state of a check after all its ``pairs``, in the order in which they ran.

    ``in_turns``: the runs of a pair ran at once, now the one, now the other; it decides nothing.

    Holds nothing from call to call: what was seen at earlier looks is looked at again.
    """
    ratios = [_log(pair.head) - _log(pair.base) for pair in pairs]

    def measure(part: slice, error: float) -> Shift:
        return paired_shift(ratios[part], error)

    return _decide(len(ratios), measure, _IN_TURNS if in_turns else _OF_PAIRS, settings)


def decide_unpaired(
    base: Sequence[float], head: Sequence[float], settings: DecisionSettings
) -> Decision:
    """The same of rates that were measured once, and runs of head alone; ``pairs`` and ``more`` count those.

    Both series rest on the same runs of base: what was odd with them, both see.
    """
    was, now = [_log(rate) for rate in base], [_log(rate) for rate in head]

    def measure(part: slice, error: float) -> Shift:
        return unpaired_shift(was, now[part], error)

    return _decide(len(now), measure, _OF_RUNS, settings)


def _log(rate: float) -> float:
    assert 0 < rate < inf, "a run without a rate is no measurement"
    return log(rate)


class _Answer(Enum):
    SLOWER = "slower"
    NOT_SLOWER = "not slower"
    UNCLEAR = "unclear"
    UNFINISHED = "unfinished"


_NOTHING: Final = Shift(middle=0.0, low=-inf, high=inf, noise=inf, spread=inf)
"""Shift as it is known before the first pair."""


class _Series(NamedTuple):
    answer: _Answer
    end: int
    """Runs up to its last look, or up to the next one when it is unfinished."""


_Measure = Callable[[slice, float], Shift]
"""The shift that some of the runs show, with the probability of an error at each of its ends."""


class _Design(NamedTuple):
    """The differences between kinds of checks, most of all in words."""

    unit: str
    between: str
    remedy: str
    """Words for what finds smaller slowdowns."""
    is_fresh: bool = True
    """True if both sides run again for a regression to be confirmed."""
    power: float = _POWER


_OF_PAIRS: Final = _Design(
    "pairs",
    "from pair to pair",
    "Runs that take turns (--interleave), longer runs, a quieter machine or a larger --max-pairs find",
)
_IN_TURNS: Final = _OF_PAIRS._replace(
    remedy="Longer runs, a quieter machine or a larger --max-pairs find"
)
_OF_RUNS: Final = _Design(
    "runs",
    "between a saved run and one of head",
    # Of more runs of head alone, what the saved ones vary by is not lessened.
    "A baseline that is saved again, of more runs (--pairs) or of longer ones, finds",
    is_fresh=False,
    power=_POWER_OF_RUNS,
)


def _decide(count: int, measure: _Measure, design: _Design, settings: DecisionSettings) -> Decision:
    first = _look(0, count, measure, settings)
    second = None
    if first.answer is _Answer.SLOWER:
        error = settings.confirming_error if design.is_fresh else settings.error
        second = _look(first.end, count, measure, settings, confirming_error=error)
    last = second or first
    end = min(count, last.end)
    more = last.end - count if last.answer is _Answer.UNFINISHED else 0
    shift = measure(slice(0, end), settings.error) if end else _NOTHING
    if more:
        state = Verdict.INCONCLUSIVE
    elif second is not None and second.answer is _Answer.SLOWER:
        state = Verdict.REGRESSION
    else:
        state = Verdict.PASS if _excludes(shift, settings) else Verdict.INCONCLUSIVE
    decision = Decision(
        state=state,
        ratio=Interval(exp(shift.middle), exp(shift.low), exp(shift.high)),
        asked=_asked(settings),
        min_effect=_needed(shift.spread, settings),
        mde=_detectable(shift, end, design, settings),
        noise=shift.noise,
        pairs=end,
        more=more,
        is_confirming=second is not None,
        reasons=(),
    )
    return replace(
        decision,
        reasons=tuple(_reasons(decision, first.end, design)),
        remedy=_remedy(decision, design),
    )


def _look(
    start: int,
    count: int,
    measure: _Measure,
    settings: DecisionSettings,
    *,
    confirming_error: float | None = None,
) -> _Series:
    """Return what the runs from ``start`` on say by themselves, at the first look that says anything.

    With ``confirming_error`` slower is what they show with that error, and all runs with the usual one.
    """
    for look in settings.looks:
        end = start + look
        if end > count:
            return _Series(_Answer.UNFINISHED, end)
        shift = measure(slice(start, end), settings.error)
        if _excludes(shift, settings):
            return _Series(_Answer.NOT_SLOWER, end)
        slower = [shift]
        if confirming_error is not None:
            slower = [
                measure(slice(start, end), confirming_error),
                measure(slice(0, end), settings.error),
            ]
        if all(_is_beyond(interval, settings) for interval in slower):
            return _Series(_Answer.SLOWER, end)
    return _Series(_Answer.UNCLEAR, end)


def _is_beyond(shift: Shift, settings: DecisionSettings) -> bool:
    """Tell whether the whole interval shows a slowdown that counts."""
    return exp(shift.high) < 1 - _needed(shift.spread, settings)


def _excludes(shift: Shift, settings: DecisionSettings) -> bool:
    """Tell whether a slowdown that matters is out of the question. That it is noisy is no excuse here."""
    return exp(shift.low) > 1 - _asked(settings)


def _asked(settings: DecisionSettings) -> float:
    return MIN_EFFECT if settings.min_effect is None else settings.min_effect


def _needed(spread: float, settings: DecisionSettings) -> float:
    """Slowdown that the whole interval must be beyond for a failure."""
    if settings.min_effect is not None:
        return settings.min_effect
    return max(MIN_EFFECT, 1 - exp(-NOISE_FACTOR * spread))


def _detectable(shift: Shift, count: int, design: _Design, settings: DecisionSettings) -> float:
    """Minimum detectable effect of a check that goes to the end of both series if need be."""
    if not isfinite(shift.spread):
        return 1.0
    lessening = (shift.spread**2 - shift.fixed**2) * count / settings.max_pairs
    spread = sqrt(shift.fixed**2 + max(0.0, lessening))
    return detectable_effect(spread, settings, power=design.power)


def detectable_effect(spread: float, settings: DecisionSettings, *, power: float = _POWER) -> float:
    """Slowdown that is found nine times in ten, where a whole series comes out at ± ``spread``."""
    normal = NormalDist()
    z = normal.inv_cdf(1 - settings.error)
    # Few runs tell their own noise badly: Student's t, by the first term of Fisher's expansion.
    quantile = z * (1 + (z * z + 1) / (4 * (settings.max_pairs - 1)))
    reach = quantile + normal.inv_cdf(power)
    return 1 - (1 - _needed(_SPREAD_OFF * spread, settings)) * exp(-reach * spread)


def _reasons(decision: Decision, first_end: int, design: _Design) -> Iterator[str]:
    asked, unit = percent(decision.asked), design.unit
    if decision.state is Verdict.REGRESSION:
        yield (
            f"It was seen twice: in the first {first_end} {unit}, and in "
            f"{decision.pairs - first_end} fresh ones by themselves."
        )
    elif decision.more:
        yield f"{decision.more} more {unit} are needed to tell."
    elif decision.state is Verdict.INCONCLUSIVE:
        yield f"A slowdown of {asked} is neither shown nor out of the question."
        yield _why_unclear(decision, design)
    if decision.is_confirming and decision.state is not Verdict.REGRESSION:
        seen = f"The first {first_end} {unit} showed a regression"
        yield f"{seen}." if decision.more else f"{seen}, and fresh ones did not."
    if decision.state is not Verdict.PASS and decision.asked < decision.min_effect < 1:
        yield (
            f"In this noise only a slowdown of more than {percent(decision.min_effect)} counts, not {asked}: "
            "checking the program against itself typically gives half of that."
        )


def _remedy(decision: Decision, design: _Design) -> str:
    """In turns the best one is taken already."""
    saw_little = decision.mde > _BLIND * decision.asked
    if decision.state is not Verdict.PASS or not saw_little or design is _IN_TURNS:
        return ""
    return f"{design.remedy} smaller ones."


def _why_unclear(decision: Decision, design: _Design) -> str:
    if not isfinite(decision.noise):
        return "A single run does not tell how much runs vary."
    if decision.is_at_limit:
        return (
            "Head is slower by about as much as is allowed: a smaller --min-effect makes that a failure, "
            "a larger one a pass."
        )
    return (
        f"In this noise ({percent(decision.noise)} {design.between}) such a check finds slowdowns from "
        f"{percent(decision.mde)} on. {design.remedy} smaller ones."
    )
