"""Evaluate every 50th time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.experiments.treatments.every_fiftieth import EVERY
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places:
        for callee in patient.callees(file, line):
            if "eval" in callee.name.lower():
                return [patient.call_of("every", file, line, callee, every=EVERY)]
    return [patient.call_of_function("every", *patient.places[0], every=EVERY)]


TREATMENT: Final = Treatment(
    id="every-fiftieth-evaluation",
    does="evaluates every 50th time only, and otherwise answers as the last one did",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"evaluation-share"}),
    parts=_parts,
    leaves=1 / EVERY,
)
