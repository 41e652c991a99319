"""Run a loop every 50th time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.experiments.treatments.every_fiftieth import EVERY
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    return [
        patient.edit("every-loop", file, line, every=EVERY) for file, line in patient.places[:1]
    ]


TREATMENT: Final = Treatment(
    id="every-fiftieth-loop",
    does="runs the loop around the line every 50th time only",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"target-update-per-parameter"}),
    parts=_parts,
    leaves=1 / EVERY,
)
