"""Make objects of what others of their class have, without their set-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.values import value_of


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places:
        known = patient.known(file, line)
        for node in patient.calls(file, line):
            made = value_of(node.func, known)
            if made is not None and made.made and made.file.endswith(".py"):
                module, _, name = made.made.rpartition(".")
                part = {"what": "made-from-memory", "qualname": f"{name}.__init__"}
                return [{"way": "call", "module": module, **part}]
        for callee in patient.callees(file, line):
            return [patient.call_of("from-memory", file, line, callee, makes=1)]
    raise CannotTreatError("its lines were seen to make no object of a class of Python's")


TREATMENT: Final = Treatment(
    id="object-from-memory",
    does="gives a new object what one made the same way began with, without its set-up",
    kind=TreatmentKind.CEILING,
    findings=frozenset({"environment-recreated"}),
    parts=_parts,
)
