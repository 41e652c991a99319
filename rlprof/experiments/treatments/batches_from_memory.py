"""Hand out batches of a DataLoader that were loaded before."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment, always
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="batches-from-memory",
    does="hands out batches that a DataLoader without workers loaded before",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"dataloader-workers"}),
    parts=always(
        {
            "way": "call",
            "what": "from-memory",
            "module": "torch.utils.data.dataloader",
            "qualname": "_SingleProcessDataLoaderIter._next_data",
        }
    ),
)
