"""What `rlprof try` measured of a finding, set against what its fix really saved.

All shares are of time per step: a saved share of 0.75 makes training four times as fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from verdict import Measured

GAIN = "gain"

KNOWN = 0.05
"""Standard error of a true saving, above which it judges nothing: the machine was not quiet."""

NOT_LISTED = "not listed by the time of the plan"


class Share(NamedTuple):
    """A saved share and its interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tried:
    """The experiment with a finding."""

    treatment: str = ""
    kind: str = ""
    outcome: str = ""
    predicted: tuple[float, float] | None = None
    measured: Share | None = None
    """None where it was not tried, or nothing was measured."""
    pairs: int = 0
    seconds: float = 0.0
    why: str = ""
    """Reason why nothing was measured."""


def read_tried(report: Mapping[str, Any], finding: str, refusal: str) -> Tried:
    """Return what the JSON ``report`` says of the experiment with ``finding``.

    Of several, since a treatment that nobody came to is followed by the next: the first that has measured something, or the last.
    """
    there = [each for each in report["experiments"] if each["finding"] == finding]
    if not there:
        return Tried(why=refusal or NOT_LISTED)
    experiment = next((each for each in there if each["measured"] is not None), there[-1])
    predicted, measured = experiment["predicted"], experiment["measured"]
    return Tried(
        treatment=experiment["treatment"],
        kind=experiment["kind"],
        outcome=experiment["outcome"],
        predicted=None if predicted is None else (predicted["low"], predicted["high"]),
        measured=None if measured is None else Share(**measured),
        pairs=experiment["pairs"],
        seconds=experiment["seconds"],
        why=experiment["note"],
    )


@dataclass(frozen=True, slots=True)
class TriedVerdict:
    """One program judged."""

    name: str
    finding: str
    tried: Tried
    true: Measured | None
    """None where nothing was measured in turns."""

    @property
    def truth(self) -> Measured | None:
        """The true saving, if it is known well enough to judge by."""
        is_known = self.true is not None and self.true.uncertainty <= KNOWN
        return self.true if is_known else None

    @property
    def error(self) -> float | None:
        """Share measured in turns less the true one, in percentage points."""
        if self.tried.measured is None or self.truth is None:
            return None
        return 100 * (self.tried.measured.median - self.truth.median)

    @property
    def error_of_samples(self) -> float | None:
        """The same of the middle of the range that samples told."""
        if self.tried.predicted is None or self.truth is None:
            return None
        return 100 * (sum(self.tried.predicted) / 2 - self.truth.median)

    @property
    def holds(self) -> bool | None:
        """True if the true saving is in the interval, of a ceiling if it is not above it.

        The interval is widened by what the truth itself does not know.
        """
        measured, truth = self.tried.measured, self.truth
        if measured is None or truth is None:
            return None
        unknown = truth.uncertainty
        is_below = truth.median <= measured.high + unknown
        return is_below and (self.tried.kind != GAIN or measured.low - unknown <= truth.median)

    def row(self) -> list[str]:
        tried, true = self.tried, self.true
        measured = tried.measured
        if measured is None:
            told = " ".join(filter(None, (tried.outcome.replace("-", " "), tried.why)))
        else:
            told = f"{measured.median:.2f} [{measured.low:.2f}, {measured.high:.2f}]"
            told += ", not clear" if tried.outcome == "not-clear" else ""
        predicted, error = tried.predicted, self.error
        if true is None:
            saved = ""
        else:
            saved = f"{true.median:.2f} ({min(true.savings):.2f} to {max(true.savings):.2f})"
            saved += "" if self.truth else ", not known"
        return [
            self.name,
            f"`{self.finding}`",
            f"`{tried.treatment}`" if tried.treatment else "none",
            tried.kind,
            "" if predicted is None else f"[{predicted[0]:.2f}, {predicted[1]:.2f}]",
            told,
            saved,
            "" if error is None else f"{error:+.1f}",
            {None: "", True: "yes", False: "**no**"}[self.holds],
            str(tried.pairs) if tried.pairs else "",
            f"{tried.seconds:.0f}" if tried.seconds else "",
        ]


def totals(judged: Sequence[TriedVerdict]) -> list[tuple[str, str]]:
    """All programs together, in words."""
    measured = [verdict for verdict in judged if verdict.holds is not None]
    gains = [verdict for verdict in measured if verdict.tried.kind == GAIN]
    ceilings = [verdict for verdict in measured if verdict.tried.kind != GAIN]
    rows = [
        (
            "findings that could be tried",
            _share([verdict.tried.measured is not None for verdict in judged]),
        )
    ]
    tried = [verdict for verdict in judged if verdict.tried.measured is not None]
    if tried:
        clear = [verdict.tried.outcome == "measured" for verdict in tried]
        rows.append(("of these, clear before the time was up", _share(clear)))
        known = [verdict.truth is not None for verdict in tried]
        rows.append(("of these, with a truth that is known to judge by", _share(known)))
    if gains:
        rows += [
            ("gains, error", _errors([verdict.error for verdict in gains])),
            (
                "the same findings, error of what samples told",
                _errors([verdict.error_of_samples for verdict in gains]),
            ),
            ("gains whose interval holds the truth", _share([bool(each.holds) for each in gains])),
        ]
    if ceilings:
        rows += [
            (
                "ceilings that the truth does not pass",
                _share([bool(each.holds) for each in ceilings]),
            ),
            ("ceilings, middle above the truth", _errors([each.error for each in ceilings])),
        ]
    if tried:
        seconds = [verdict.tried.seconds for verdict in tried]
        rows.append(
            ("seconds for a finding", f"{median(seconds):.0f} (at most {max(seconds):.0f})")
        )
    return rows


def _share(answers: Sequence[bool]) -> str:
    if not answers:
        return "0 of 0"
    return f"{sum(answers)} of {len(answers)} ({100 * sum(answers) / len(answers):.0f} %)"


def _errors(errors: Sequence[float | None]) -> str:
    sizes = [abs(error) for error in errors if error is not None]
    return f"median {median(sizes):.1f}, worst {max(sizes):.1f} points" if sizes else "unknown"
