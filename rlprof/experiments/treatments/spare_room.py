"""Let arrays grow in room that was made for more."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

_GROW: Final = frozenset({"append", "concatenate", "vstack"})


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    parts = []
    for file, line in patient.places:
        calls = {ast.unparse(node.func) for node in patient.calls(file, line)}
        growing = sorted(name for name in calls if name.rpartition(".")[2] in _GROW)
        if growing:
            parts += patient.edits("spare-room", [(file, line)], call=" ".join(growing))
    if not parts:
        raise CannotTreatError("its lines call none of numpy's " + ", ".join(sorted(_GROW)))
    return parts


TREATMENT: Final = Treatment(
    id="spare-room",
    does="lets the array grow in room that was made for more rows, as a list does",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"growing-array"}),
    parts=_parts,
)
