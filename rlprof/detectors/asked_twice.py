"""A network that is asked for the same twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.backward_pass import BackwardPass
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.same_questions import SameQuestion, SameQuestions
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.gradients import without_gradients
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in networks that are asked again."""

REMOVABLE: Final = Range(0.9, 1.0)
"""Part of the second forward pass that goes: all but a name for the first answer. By reason."""

OF_OTHERS: Final = Range(0.5, 1.0)
"""The same where the line asks other networks, too: nobody knows which of them takes how much."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    asked = SameQuestions(profile, lines).found()
    time = own_time(profile, lines, asked, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(frozenset(it.nodes), _removable(it)) for it in asked]
    both = [
        saving for it, saving in zip(asked, savings, strict=True) if _records_twice(it, profile)
    ]
    backward = BackwardPass(profile, lines).saving(both) if both else None
    told = time.heaviest
    network, given = told.question
    where = (
        "on the same line" if told.first_line == told.place.line else f"in line {told.first_line}"
    )
    yield Finding(
        title=f"{network} is asked twice for the same ({time.place})",
        savings=(*savings, *((backward,) if backward is not None else ())),
        locations=time.locations,
        evidence=(
            time.share_spent("in networks that were asked the same before"),
            f"{network}({given}) was called {where}, and nothing between changes what it answers",
        ),
        fix="Ask once, with gradients where one of the two needs them, and use the answer in both places: detach() gives it without.",
        confidence=Confidence.BOUNDED,
    )


def _records_twice(asked: SameQuestion, profile: Profile) -> bool:
    """Tell whether a backward pass goes through both answers: with one, it goes through what is kept all the same."""
    off = without_gradients(profile.sources.get(asked.place.file, ""))
    return asked.first_line not in off and asked.place.line not in off


def _removable(asked: SameQuestion) -> Range:
    if asked.of_line >= 1:
        return REMOVABLE
    return Range(OF_OTHERS.low * asked.of_line, min(1.0, 2 * asked.of_line))


DETECTOR: Final = Detector(
    id="asked-twice",
    name="a network asked twice for the same",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
