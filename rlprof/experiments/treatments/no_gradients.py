"""Ask a network without recording gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    return patient.edits("without-gradients", patient.places)


TREATMENT: Final = Treatment(
    id="no-gradients",
    does="runs the statement under torch.no_grad()",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"grads-in-rollout"}),
    parts=_parts,
)
