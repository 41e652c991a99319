"""Have loaders make their batches in workers."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="loaders-with-workers",
    does="runs it anew beside itself, with a worker for each core (four at most) in each DataLoader that has none",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"dataloader-workers"}),
    restart="loaders-with-workers",
    order=1,
)
