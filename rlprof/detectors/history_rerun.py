"""A network that goes through the whole history of an episode, or of a text, at each of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.networks.reread_histories import RereadHistories, RereadHistory
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.03
"""Least share of the critical time."""

MOST_OF_LSTM: Final = calibrated(
    45.0,
    unit="steps that take as long as the call itself",
    source="benchmarks/replacements.py, torch 2.13 on one thread, histories of 8 to 160 steps: 40 with a state of 1 × 64, 13 of 8 × 64",
    date="2026-11-27",
)
"""Steps' worth of time that stays of an LSTM's call at most: a small one takes its time for the call, and hardly any for a step."""

LEAST_OF_LSTM: Final = calibrated(
    3.0,
    unit="steps that take as long as the call itself",
    source="benchmarks/replacements.py, as above: 4 with a state of 1 × 256",
    date="2026-11-27",
)
"""The same at least."""

MOST_OF_OTHERS: Final = calibrated(
    6.0,
    unit="steps that take as long as the call itself",
    source="benchmarks/replacements.py, as above, of a GRU and an RNN: 0.5 to 6",
    date="2026-11-27",
)
"""The same of a GRU and an RNN, at most."""

LEAST_OF_OTHERS: Final = 1.0
"""And at least."""

MOST_OF_ROW: Final = calibrated(
    150.0,
    unit="tokens that take as long as the call itself",
    source="benchmarks/replacements.py, torch 2.13 on one thread, transformers of 2 and 4 layers, 64 to 256 wide, texts of 16 to 128 tokens: "
    "of one row of 64 nothing goes, 16 of 8 rows, 9 of 32",
    date="2026-11-29",
)
"""Tokens' worth of time that stays of a call of a network that is not recurrent, divided by its rows, besides ``MOST_OF_ANY``: calls and copies of
what is kept."""

MOST_OF_ANY: Final = calibrated(
    4.0,
    unit="tokens that take as long as the call itself",
    source="benchmarks/replacements.py, as above",
    date="2026-11-29",
)
"""The same with any number of rows."""

LEAST_OF_ANY: Final = 1.0
"""And at least."""

OF_JOINING: Final = Range(0.5, 1.0)
"""Part of the time for making a tensor of the history that goes: one observation is left."""


_FIX: Final = (
    "Keep its state from step to step and give it the new observation alone: out, state = lstm(x[:, -1:], state), with state = None "
    "where an episode begins. Not while gradients are to flow through the steps before."
)
_FIX_OF_ATTENTION: Final = (
    "Where its attention looks back alone, keep the keys and values of each layer from step to step (a KV cache) and give it the new token "
    "alone. What looks at no other token needs the last one only."
)


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    found = RereadHistories(profile, lines).found()
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    history = time.most
    state = ", no state" if history.kind else ""
    yield Finding(
        title=f"the {history.kind or 'network'} goes through the history anew ({time.place})",
        savings=tuple(saving for rerun in found for saving in _savings(rerun)),
        locations=time.locations,
        evidence=(
            time.share_spent(f"in {history.network}"),
            f"it was given {history.steps:g} steps in the middle, {history.most} at most{state}, and its last answer alone is used",
        ),
        fix=_FIX if history.kind else _FIX_OF_ATTENTION,
        confidence=Confidence.BOUNDED,
    )


def _savings(history: RereadHistory) -> Iterator[Saving]:
    low, high = (1 - (call + 1) / (call + history.steps) for call in _calls(history))
    # What is kept of the tokens before is the same only where they do not look at those that come later.
    low = low if history.looks_back else 0.0
    yield Saving(frozenset(history.nodes), Range(low, high))
    if joining := history.joining - history.nodes:
        yield Saving(frozenset(joining), OF_JOINING)


def _calls(history: RereadHistory) -> tuple[float, float]:
    """Steps that take as long as the call itself, at most and at least."""
    if history.kind == "LSTM":
        return MOST_OF_LSTM, LEAST_OF_LSTM
    if history.kind:
        return MOST_OF_OTHERS, LEAST_OF_OTHERS
    return MOST_OF_ANY + MOST_OF_ROW / history.rows, LEAST_OF_ANY


DETECTOR: Final = Detector(
    id="history-rerun",
    name="a network asked for the whole history at each step",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
