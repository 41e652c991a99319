"""Update all parameters of an optimizer in one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return []


TREATMENT: Final = Treatment(
    id="fused-optimizer",
    does="runs it anew beside itself, with fused=True in all optimizers that torch can fuse",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"optimizer-not-fused"}),
    parts=_parts,
    restart="fused-optimizers",
)
