"""Make one array of a list of arrays or numbers before torch makes a tensor of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

MAKES: Final = frozenset({"tensor", "as_tensor"})
"""Functions of torch that make a tensor of a list."""


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    made = {place: [*_calls(patient, *place)] for place in patient.places}
    calls = sorted({name for names in made.values() for name in names})
    if not calls:
        raise CannotTreatError("none of its lines calls torch.tensor")
    places = [place for place, names in made.items() if names]
    return patient.edits("arrays-first", places, call=" ".join(calls))


def _calls(patient: Patient, file: str, line: int) -> Iterator[str]:
    """Yield the calls on the statement at ``line`` that make tensors, as Python would write what is called."""
    for node in patient.calls(file, line):
        if isinstance(node.func, ast.Attribute) and node.func.attr in MAKES:
            yield ast.unparse(node.func)


TREATMENT: Final = Treatment(
    id="one-array-first",
    does="makes one array of the list before torch makes a tensor of it",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"tensor-from-list"}),
    parts=_parts,
)
