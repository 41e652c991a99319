"""Calls, and searches of lists, for which there is a cheaper way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.calls.slow_calls import SlowCalls, Spent
from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Confidence, Finding
from rlprof.model.profile import Profile

MIN_SHARE: Final = 0.03
"""Least share of the critical time: what is drawn, read or compressed now and then stays below it."""

_SHOWN: Final = 3


def detect(profile: Profile) -> Iterable[Finding]:
    slow = SlowCalls(profile)
    for call, spent in slow.spent.items():
        finding = _finding(call, spent)
        if finding is not None:
            yield finding


def _finding(call: SlowCall, spent: Spent) -> Finding | None:
    if not spent.is_worth(MIN_SHARE):
        return None
    called = ", ".join(name for name, _ in spent.called.most_common(_SHOWN))
    seen = spent.seen.get(spent.heaviest)
    return Finding(
        title=f"{call.done} ({spent.place})",
        savings=spent.savings,
        locations=spent.locations,
        evidence=(
            spent.share_spent("on it"),
            *([f"called: {called}"] if called else []),
            *([f"seen there: {seen}"] if seen else []),
        ),
        fix=call.instead,
        confidence=Confidence.MEASURED if called and call.removable.low else Confidence.BOUNDED,
    )


DETECTOR: Final = Detector(
    id="slow-call",
    name="calls that have a cheaper way",
    in_samples=InSamples(detect),
)
