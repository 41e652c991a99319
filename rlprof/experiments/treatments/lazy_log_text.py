"""Build the text of a log message only where its logger passes it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    return patient.edits("if-logged", patient.places)


TREATMENT: Final = Treatment(
    id="lazy-log-text",
    does="builds the text of a log message only where its logger passes it on",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"eager-log-format"}),
    parts=_parts,
)
