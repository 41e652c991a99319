"""Step the environments of a vector environment in the process of the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return []


TREATMENT: Final = Treatment(
    id="environments-in-process",
    does="runs it anew beside itself, with AsyncVectorEnv, SubprocVecEnv or ParallelEnv in one process",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"ipc-per-step", "too-many-workers"}),
    parts=_parts,
    restart="environments-in-process",
)
