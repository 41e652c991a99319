"""A recurrent network that goes through the whole history of an episode at each of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.reread_histories import RereadHistories, RereadHistory
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
"""What stays of an LSTM's call at most: a small one takes its time for the call, and hardly any for a step."""

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

OF_JOINING: Final = Range(0.5, 1.0)
"""Part of the time for making a tensor of the history that goes: one observation is left."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    found = RereadHistories(profile, lines).found()
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    history = time.heaviest
    yield Finding(
        title=f"the {history.kind} goes through the history anew ({time.place})",
        savings=tuple(saving for rerun in found for saving in _savings(rerun)),
        locations=time.locations,
        evidence=(
            time.share_spent(f"in {history.network}"),
            f"it was given {history.steps:g} steps in the middle, {history.most} at most, no state, and its last answer alone is used",
        ),
        fix="Keep its state from step to step and give it the new observation alone: out, state = lstm(x[:, -1:], state), with state = None "
        "where an episode begins. Not while gradients are to flow through the steps before.",
        confidence=Confidence.BOUNDED,
    )


def _savings(history: RereadHistory) -> Iterator[Saving]:
    is_lstm = history.kind == "LSTM"
    calls = (MOST_OF_LSTM, LEAST_OF_LSTM) if is_lstm else (MOST_OF_OTHERS, LEAST_OF_OTHERS)
    low, high = (1 - (call + 1) / (call + history.steps) for call in calls)
    yield Saving(frozenset(history.nodes), Range(low, high))
    if joining := history.joining - history.nodes:
        yield Saving(frozenset(joining), OF_JOINING)


DETECTOR: Final = Detector(
    id="history-rerun",
    name="a recurrent network asked for the whole history at each step",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
