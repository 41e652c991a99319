"""Networks that work on sequences filled up to a fixed length, and so on numbers that nobody uses."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.backward_pass import BackwardPass
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.padded_batches import PaddedBatches, padded_batches
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.05
"""Least share of the critical time, in the forward passes of updates."""

UNKNOWN: Final = Range(0.0, 0.8)
"""Part of the networks' time that goes where nobody saw how long the sequences are."""

LONGEST: Final = 1.5
"""Times the middle length that the longest of a batch may have, to which it is still filled up."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    found = padded_batches(profile, lines)
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(frozenset(batches.nodes), _removable(batches)) for batches in found]
    backward = BackwardPass(profile, lines).saving(savings)
    yield Finding(
        title=f"sequences are filled up to a fixed length ({time.place})",
        savings=(*savings, *((backward,) if backward is not None else ())),
        locations=time.locations,
        evidence=(
            time.share_spent("in networks that are updated on them"),
            _lengths_in_words(time.heaviest),
        ),
        fix="Fill up to the longest sequence of the batch, and put sequences of like length into one batch: "
        "torch.nn.utils.rnn.pad_sequence(sequences), or rows[:, : max(map(len, sequences))].",
        confidence=Confidence.BOUNDED,
    )


def _removable(batches: PaddedBatches) -> Range:
    middle, width = batches.middle, batches.width
    if middle is None or not width:
        return UNKNOWN
    left = min(1.0, middle / width)
    return Range(max(0.0, 1 - LONGEST * left), 1 - left)


def _lengths_in_words(batches: PaddedBatches) -> str:
    width = ast.unparse(batches.padding.width)
    told = f"to {width}, whatever the length of {ast.unparse(batches.padding.sequence)}"
    if not batches.lengths:
        return f"{told}; how long they are was not seen"
    lengths = f"{min(batches.lengths)} to {max(batches.lengths)}"
    of = f" of {batches.width}" if batches.width else ""
    return f"{told}; {lengths}{of} were seen"


DETECTOR: Final = Detector(
    id="padded-sequences",
    name="networks that work on sequences filled up to a fixed length",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
