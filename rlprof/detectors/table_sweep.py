"""Tables of transitions that Python goes through, one transition after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import own_time
from rlprof.detectors.recognisers.table_sweeps import TableSweeps
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in these sums."""

REMOVABLE: Final = calibrated(
    Range(0.7, 0.99),
    unit="part of the sums' time",
    source="benchmarks/replacements.py, numpy 2.4: of 16 to 1 000 states with 1 to 100 transitions 0.01 to 0.27 is left",
    date="2026-11-26",
)
"""Part that goes with arrays of all transitions."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    sweeps = TableSweeps(profile, lines).found()
    time = own_time(profile, lines, sweeps, MIN_SHARE)
    if time is None:
        return
    yield Finding(
        title=f"a table of transitions is added up in Python ({time.place})",
        savings=tuple(Saving(frozenset(sweep.nodes), REMOVABLE) for sweep in sweeps),
        locations=time.locations,
        evidence=(
            time.share_spent("in these sums"),
            f"the values of the states: {time.heaviest.values}",
            "loops around it go through the states; a turn does arithmetic alone",
        ),
        fix="Write the table into arrays once, probabilities P (states, actions, states) and rewards R (states, actions), and take one product for "
        "all: values = (R + gamma * P @ values).max(axis=1). With many states and few transitions of each keep the next states instead: "
        "(R + gamma * (probability * values[after]).sum(axis=2)).max(axis=1).",
        confidence=Confidence.MEASURED,
    )


DETECTOR: Final = Detector(
    id="table-sweep",
    name="tables of transitions that are added up in Python",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
