"""Make a call every 50th time only: for loops that run once for the whole training, whose statements nobody can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment, call
from rlprof.experiments.treatments.every_fiftieth import EVERY, FINDINGS
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places[:1]:
        for callee in patient.callees(file, line):
            return [call("every", callee.file, callee.line, callee.name, every=EVERY)]
    raise CannotTreatError("its line was seen to call no function of Python's")


TREATMENT: Final = Treatment(
    id="every-fiftieth-call",
    does="makes the call every 50th time only, and otherwise answers as it did last",
    kind=TreatmentKind.CEILING,
    findings=FINDINGS,
    parts=_parts,
    order=1,
)
