"""Calls, and searches of lists, for which there is a cheaper way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.calls.slow_calls import SlowCalls, Spent
from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Confidence, Finding, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines, heaviest_line, short_place
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.03
"""Least share of the critical time: what is drawn, read or compressed now and then stays below it."""

_SHOWN: Final = 3


def detect(profile: Profile) -> Iterable[Finding]:
    slow = SlowCalls(profile)
    for call, spent in slow.spent.items():
        finding = _finding(profile, slow.lines, call, spent)
        if finding is not None:
            yield finding


def _finding(profile: Profile, lines: UserLines, call: SlowCall, spent: Spent) -> Finding | None:
    whole, total = profile.critical.wall_us, sum(spent.weights.values())
    if not whole or total < MIN_SHARE * whole:
        return None
    heaviest = heaviest_line(spent.weights)
    called = ", ".join(name for name, _ in spent.called.most_common(_SHOWN))
    seen = spent.seen.get(heaviest)
    return Finding(
        title=f"{call.done} ({short_place(heaviest)})",
        savings=tuple(Saving(frozenset(nodes), part) for part, nodes in spent.nodes.items()),
        locations=lines.shown_locations(spent.weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent on it"
            + of_each_step(total, profile.steady_steps),
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
