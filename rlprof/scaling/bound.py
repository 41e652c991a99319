"""Tell what held a run of a ladder up: the one thing that its pace does not tell."""

from __future__ import annotations

from rlprof.model.activity import Bound
from rlprof.model.recording import Recording
from rlprof.pace.pace import Pace
from rlprof.profile.build import build_profile


def bound_of(recording: Recording, pace: Pace) -> Bound:
    """The bound of the steady steps, as a profile of ``recording`` names it; ``pace`` is its own."""
    return build_profile(recording, pace).bound
