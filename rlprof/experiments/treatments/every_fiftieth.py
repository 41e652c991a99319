"""Run the statements of a finding every 50th time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart

EVERY: Final = 50
"""Calls of which one is made."""

FINDINGS: Final = frozenset(
    {
        "blocking-io",
        "checkpoint-heavy",
        "history-statistics",
        "output-per-step",
    }
)


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    return patient.edits("every", patient.places, every=EVERY)


TREATMENT: Final = Treatment(
    id="every-fiftieth",
    does="runs its statements every 50th time only",
    kind=TreatmentKind.CEILING,
    findings=FINDINGS,
    parts=_parts,
    leaves=1 / EVERY,
)
