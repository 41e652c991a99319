"""The same as :mod:`one_array_first`, where the call stands in a loop that runs once for the whole training: torch's own function is replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.experiments.treatments.one_array_first import MAKES
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    file, line = patient.places[0]
    names = sorted(patient.methods(file, line) & MAKES)
    if not names:
        raise CannotTreatError("its line does not call torch.tensor by that name")
    return [patient.call_in_c("arrays-first", file, line, "torch", name) for name in names]


TREATMENT: Final = Treatment(
    id="one-array-first-call",
    does="makes one array of what the line gives to torch.tensor, before it does",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"tensor-from-list"}),
    parts=_parts,
    order=1,
)
