"""Small builders of experiments that read like the story they tell.

a_gain("omegaconf-in-loop", "train.py:12 step", saves=(0.40, 0.38, 0.45), told=(0.04, 0.19))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rlprof.model.experiment import Experiment, MeasuredShare, TreatmentKind, TryOutcome
from rlprof.model.finding import Range
from tests.factories import frame


def a_gain(
    finding: str = "model-publish",
    place: str = "/home/researcher/project/train.py:24 publish",
    *,
    saves: tuple[float, float, float] | None = (0.40, 0.38, 0.45),
    told: tuple[float, float] | None = (0.04, 0.19),
    **changes: Any,
) -> Experiment:
    """Eight pairs of slots of 0.8 s; ``saves`` is the median and its interval, ``told`` the price by samples."""
    at = frame(place)
    experiment = Experiment(
        finding=finding,
        file=at.file,
        line=at.line,
        function=at.function,
        treatment="rewritten-line",
        kind=TreatmentKind.GAIN,
        outcome=TryOutcome.MEASURED,
        predicted=None if told is None else Range(*told),
        measured=None if saves is None else MeasuredShare(*saves),
        pairs=8,
        slot_s=0.8,
        seconds=14.0,
        note="",
    )
    return replace(experiment, **changes)


def a_ceiling(*args: Any, **changes: Any) -> Experiment:
    """What is saved where the calls are left out, which changes the results."""
    return replace(a_gain(*args, **changes), kind=TreatmentKind.CEILING, treatment="every-nth-call")


def a_treatment_of_the_user(place: str, **changes: Any) -> Experiment:
    """One of ``place``, as ``train:Learner.publish``."""
    module, _, function = place.partition(":")
    where = {"file": module, "line": 0, "function": function}
    return a_gain("", told=None, **where, **{"treatment": "skip", **changes})


def a_failed_experiment(
    outcome: TryOutcome, *args: Any, note: str = "", **changes: Any
) -> Experiment:
    """One that measured nothing, before its first pair of slots was over."""
    return a_gain(*args, saves=None, outcome=outcome, pairs=0, note=note, **changes)
