"""Build the text of a log message only where its logger passes it on."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.message_values import MessageValues


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    refusals = [_refusal(patient, file, line) for file, line in patient.places]
    if refusals and refusals[0]:
        raise CannotTreatError(refusals[0])
    places = zip(patient.places, refusals, strict=True)
    return patient.edits("if-logged", [place for place, refusal in places if not refusal])


def _refusal(patient: Patient, file: str, line: int) -> str:
    """Return why a message on a line has to be made; empty where the values of all are only computed."""
    module = patient.module(file)
    if module is None:
        return ""
    for statement in module.statements_at(line):
        node = statement.node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            values = MessageValues(module, statement, patient.known(file, line))
            given = [*node.value.args, *(keyword.value for keyword in node.value.keywords)]
            for value in given:
                if refusal := values.refusal(value):
                    return refusal
    return ""


TREATMENT: Final = Treatment(
    id="lazy-log-text",
    does="builds the text of a log message only where its logger passes it on",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"eager-log-format"}),
    parts=_parts,
)
