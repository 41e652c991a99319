"""Step the environments of a vector environment in the process of the learner."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="environments-in-process",
    does="runs it anew beside itself, with AsyncVectorEnv, SubprocVecEnv or ParallelEnv in one process",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"ipc-per-step", "too-many-workers"}),
    restart="environments-in-process",
)
