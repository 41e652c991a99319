"""Make one array of a list of arrays or numbers before torch makes a tensor of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart

_MAKES: Final = frozenset({"tensor", "as_tensor"})


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    parts = [
        patient.edit("arrays-first", file, line, call=call)
        for file, line in patient.places
        for call in _calls(patient, file, line)
    ]
    if not parts:
        raise CannotTreatError("none of its lines calls torch.tensor")
    return parts


def _calls(patient: Patient, file: str, line: int) -> Iterator[str]:
    """Yield the calls on the statement at ``line`` that make tensors, as Python would write what is called."""
    statement = patient.statement(file, line)
    for node in statement.walk() if statement is not None else ():
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in _MAKES:
            yield ast.unparse(called)


TREATMENT: Final = Treatment(
    id="one-array-first",
    does="makes one array of the list before torch makes a tensor of it",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"tensor-from-list"}),
    parts=_parts,
)
