"""Leave out the checks of torch's distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("distribution-checks")]


TREATMENT: Final = Treatment(
    id="no-distribution-checks",
    does="leaves out the argument checks of torch's distributions",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"distribution-validation"}),
    parts=_parts,
)
