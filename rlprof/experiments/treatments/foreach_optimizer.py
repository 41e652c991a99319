"""Update all parameters of an optimizer together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("optimizer-flags", flag="foreach")]


TREATMENT: Final = Treatment(
    id="foreach-optimizer",
    does="sets foreach=True in all optimizers that have it and are not fused",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"optimizer-not-fused"}),
    parts=_parts,
)
