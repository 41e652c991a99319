"""Update all parameters of an optimizer in one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("optimizer-flags", flag="fused")]


TREATMENT: Final = Treatment(
    id="fused-optimizer",
    does="sets fused=True in all optimizers that have it",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"optimizer-not-fused"}),
    parts=_parts,
)
