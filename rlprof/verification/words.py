"""A verified fix in words, the same in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.model.experiment import MeasuredShare, TreatmentKind
from rlprof.model.finding import Range
from rlprof.names import cut_middle, printable
from rlprof.pricing.ranking import times_as_fast
from rlprof.report import wording
from rlprof.verification.verified import Promise, Standing, VerifiedFix, standing

_NAME_LIMIT: Final = 80
_PLACE_LIMIT: Final = 60

_MUCH_NOISE: Final = 0.1
"""Length of the interval of a gain, as a share of the time, from which on narrowing it is advised."""

HEADLINES: Final = {
    Standing.HELD: "The promise held",
    Standing.ABOVE: "More than promised",
    Standing.BELOW: "Less than promised",
}

STANDINGS: Final = {
    Standing.HELD: "held",
    Standing.ABOVE: "more came",
    Standing.BELOW: "less came",
}
"""For tables."""


def verdict(fix: VerifiedFix) -> str:
    """The first line of every document."""
    got, share = fix.got, fix.promise.share
    promised = wording.share_range(share)
    if got.high < 0:
        longer = MeasuredShare(-got.median, -got.high, -got.low)
        return (
            f"{HEADLINES[fix.standing]}: steps take {measured_share(longer)} longer with the fix, and it "
            f"{'was to' if share.low > 0 else 'could'} save {promised}."
        )
    was = (
        "could go" if share.low <= 0 else f"{'was' if share.low == share.high else 'were'} promised"
    )
    return f"{HEADLINES[fix.standing]}: the fix saves {measured_share(got)} of the time per step, and {promised} {was}."


def finding(promise: Promise) -> str:
    """``eager-log-format, train.py:12 step``."""
    return ", ".join(
        part for part in (printable(promise.finding, _NAME_LIMIT), place(promise)) if part
    )


def place(promise: Promise) -> str:
    if not promise.file:
        return ""
    line = f"{cut_middle(printable(promise.file), _PLACE_LIMIT)}:{promise.line}"
    return f"{line} {printable(promise.function, _NAME_LIMIT)}".rstrip()


def run_of(promise: Promise) -> str:
    """``.rlprof/20261127T1612-train.rlprof (baseline, abc1234)``."""
    stage = ", ".join(
        printable(part, _NAME_LIMIT) for part in (promise.run_label, promise.run_git) if part
    )
    return f"{printable(promise.run_file, 200)}{f' ({stage})' if stage else ''}"


def measured_share(got: MeasuredShare) -> str:
    """``80 % (78 to 82 %)``."""
    return f"{wording.percent(got.median)} ({wording.percents(got.low, got.high)})"


def promised_times(share: Range) -> str:
    return wording.times_range(Range(times_as_fast(share.low), times_as_fast(share.high)))


def measured_times(got: MeasuredShare) -> str:
    """``4.98× (4.55 to 5.49×)``."""
    middle, low, high = (f"{times_as_fast(share):.3g}" for share in got)
    return f"{middle}× ({wording.ends(low, high)}×)"


def tried_share(promise: Promise) -> str:
    """``at most 40 % (38 to 45 %)``; empty for a finding that was not tried."""
    if promise.tried is None:
        return ""
    upto = "at most " if promise.tried_kind is TreatmentKind.CEILING else ""
    return f"{upto}{measured_share(promise.tried)}"


def next_steps(fix: VerifiedFix) -> Iterator[str]:
    record = f"`rlprof run {printable(wording.typed(fix.command), 200)}`"
    about = f"`rlprof explain {printable(fix.promise.finding, _NAME_LIMIT)}`"
    if not fix.is_gain:
        yield f"No gain is shown. Is the whole fix in? {about} says what to change."
    elif fix.standing is Standing.BELOW:
        yield (
            f"Is the whole fix in? {about} says what to change, and {record} tells whether the finding is still there."
        )
    else:
        yield f"Keep the fix. {record} tells what holds the training up now."
    if fix.standing is Standing.ABOVE:
        yield (
            "Samples told too little: what goes with a cost at other places, as memory traffic and waits of other "
            "processes, they cannot see."
        )
    if fix.standing is Standing.BELOW and _trial_agrees(fix):
        yield "`rlprof try` had measured as little: where both are there, it is the one to go by."
    if fix.got.high - fix.got.low > _MUCH_NOISE:
        narrows = "" if fix.in_turns else ", runs in turns (--interleave)"
        yield f"More pairs (--pairs), longer runs{narrows} or a quieter machine narrow the interval."


def _trial_agrees(fix: VerifiedFix) -> bool:
    tried = fix.promise.tried
    return tried is not None and standing(Range(tried.low, tried.high), fix.got) is Standing.HELD
