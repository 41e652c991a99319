"""Look for no errors of autograd's."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places:
        statement = patient.statement(file, line)
        # As a context it is switched back by the program, at any time.
        if statement is not None and isinstance(statement.node, ast.With):
            raise CannotTreatError("the mode is switched on and off by a with statement")
    return [setting("anomaly-mode")]


TREATMENT: Final = Treatment(
    id="no-anomaly-checks",
    does="switches autograd's anomaly detection off",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"debug-modes"}),
    parts=_parts,
)
