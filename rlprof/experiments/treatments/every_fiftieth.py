"""Run a statement every 50th time only."""

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
        "evaluation-share",
        "history-statistics",
        "model-publish",
        "output-per-step",
        "pickle-heavy",
    }
)


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    return [patient.edit("every", file, line, every=EVERY) for file, line in patient.places[:1]]


TREATMENT: Final = Treatment(
    id="every-fiftieth",
    does="runs the statement every 50th time only",
    kind=TreatmentKind.CEILING,
    findings=FINDINGS,
    parts=_parts,
)
