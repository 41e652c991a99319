"""Hand out batches of a DataLoader that were loaded before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [
        {
            "way": "call",
            "what": "from-memory",
            "module": "torch.utils.data.dataloader",
            "qualname": "_SingleProcessDataLoaderIter._next_data",
        }
    ]


TREATMENT: Final = Treatment(
    id="batches-from-memory",
    does="hands out batches that a DataLoader without workers loaded before",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"dataloader-workers"}),
    parts=_parts,
)
