"""Keep the memory of a GPU that torch has cached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart

_NEVER: Final = 10**9


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    whose = {"way": "call", "module": "torch.cuda.memory", "qualname": "empty_cache"}
    return [{**whose, "what": "every", "every": _NEVER}]


TREATMENT: Final = Treatment(
    id="kept-gpu-memory",
    does="leaves torch.cuda.empty_cache() out",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"allocator-churn"}),
    parts=_parts,
)
