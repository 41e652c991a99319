"""Keep the memory of a GPU that torch has cached."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment, always
from rlprof.model.experiment import TreatmentKind

_NEVER: Final = 10**9


TREATMENT: Final = Treatment(
    id="kept-gpu-memory",
    does="leaves torch.cuda.empty_cache() out",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"allocator-churn"}),
    parts=always(
        {
            "way": "call",
            "what": "every",
            "every": _NEVER,
            "module": "torch.cuda.memory",
            "qualname": "empty_cache",
        }
    ),
)
