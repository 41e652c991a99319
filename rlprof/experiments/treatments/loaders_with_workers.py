"""Have loaders make their batches in workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return []


TREATMENT: Final = Treatment(
    id="loaders-with-workers",
    does="runs it anew beside itself, with a worker for each core (four at most) in each DataLoader that has none",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"dataloader-workers"}),
    parts=_parts,
    restart="loaders-with-workers",
    order=1,
)
