"""Hand out copies that were made before."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places:
        calls = {ast.unparse(node.func) for node in patient.calls(file, line)}
        copying = sorted(name for name in calls if name.rpartition(".")[2] == "deepcopy")
        if copying:
            return patient.edits("copies-from-memory", [(file, line)], call=" ".join(copying))
    raise CannotTreatError("none of its lines calls copy.deepcopy")


TREATMENT: Final = Treatment(
    id="copies-from-memory",
    does="hands out deep copies that were made before, in turn",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"deepcopy-in-loop"}),
    parts=_parts,
)
