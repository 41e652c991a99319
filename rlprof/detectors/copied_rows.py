"""A network that is asked for several copies of the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.backward_pass import BackwardPass
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.row_copies import Copied, RowCopies, RowCopiesSearch
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in the networks' forward passes."""

OF_CONVOLUTIONS: Final = Range(0.75, 1.0)
"""Part of the needless rows' share of a network's time that goes with them, where it convolves: the work grows with the rows. By reason."""

OF_LAYERS: Final = Range(0.0, 1.0)
"""The same of linear layers: small ones take as long for a few rows as for many."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    copies = list(RowCopiesSearch(profile, lines).found())
    time = own_time(profile, lines, copies, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(copy.nodes, _of_needless(copy)) for copy in copies]
    backward = BackwardPass(profile, lines).saving(savings)
    yield Finding(
        title=f"a network computes the same rows several times ({time.place})",
        savings=(*savings, *((backward,) if backward is not None else ())),
        locations=time.locations,
        evidence=(
            time.share_spent("in its forward pass"),
            f"each row comes {_times(time.heaviest.copied)} times: {time.heaviest.copied.rows}",
        ),
        fix="Ask it for each row once, and copy what it answers: net(x).repeat_interleave(n, 0) instead of net(x.repeat_interleave(n, 0)). Not where "
        "it draws random numbers, as dropout and noisy layers do.",
        confidence=Confidence.BOUNDED,
    )


def _of_needless(found: RowCopies) -> Range:
    is_sure = found.has_convolutions and not found.has_others
    part = OF_CONVOLUTIONS if is_sure else OF_LAYERS
    least, most = (1 - 1 / times for times in (found.copied.fewest, found.copied.most))
    return Range(part.low * least, part.high * most)


def _times(copied: Copied) -> str:
    least, most = copied.fewest, copied.most
    return f"{least}" if least == most else f"{least} to {most}"


DETECTOR: Final = Detector(
    id="copied-rows",
    name="a network asked for copies of the same rows",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
