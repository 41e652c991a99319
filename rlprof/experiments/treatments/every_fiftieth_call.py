"""Make a call every 50th time only: for loops that run once for the whole training, whose statements nobody can change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.experiments.treatments.every_fiftieth import EVERY, FINDINGS, expect_unread
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.values import value_of
from rlprof.syntax.imports import full_name


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places:
        for callee in patient.callees(file, line):
            expect_unread(patient, file, line)
            return [patient.call_of("every", file, line, callee, every=EVERY, messages=1)]
        for part in _compiled(patient, file, line):
            expect_unread(patient, file, line)
            return [part]
    raise CannotTreatError("its lines were seen to call no function that can be left out")


def _compiled(patient: Patient, file: str, line: int) -> Iterator[TreatmentPart]:
    """Yield parts that leave out functions in C that the line takes from their module: ``os.fsync``."""
    known, module = patient.known(file, line), patient.module(file)
    for node in patient.calls(file, line):
        value = value_of(node.func, known)
        if module is None or value is None or not value.is_compiled:
            continue
        owner, _, name = full_name(node.func, module.imports).rpartition(".")
        if owner and isinstance(node.func, ast.Attribute):
            yield patient.call_in_c("every", file, line, owner, name, every=EVERY)


TREATMENT: Final = Treatment(
    id="every-fiftieth-call",
    does="makes the call every 50th time only, and otherwise answers as it did last",
    kind=TreatmentKind.CEILING,
    findings=FINDINGS,
    parts=_parts,
    leaves=1 / EVERY,
    order=1,
)
