"""Answer a call by what an input of the same shape got before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.detectors.recognisers.outputs.output import is_logging_file
from rlprof.experiments.base import SENDS, CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

_MESSAGES: Final = "eager-log-format"
"""Of these the call that makes the text is the one, and not the logger's around it."""


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    makes_text = patient.finding.detector == _MESSAGES
    for file, line in patient.places[:1]:
        for callee in patient.callees(file, line):
            if callee.name not in SENDS and not (makes_text and is_logging_file(callee.file)):
                return [patient.call_of("from-memory", file, line, callee)]
    raise CannotTreatError("its line was seen to call no function of Python's")


TREATMENT: Final = Treatment(
    id="call-from-memory",
    does="answers the call by what an input of the same shape got before",
    kind=TreatmentKind.CEILING,
    findings=frozenset(
        {
            _MESSAGES,
            "environment-step-bound",
            "hot-spot",
            "learner-starved",
            "repeated-work",
            "slow-call",
        }
    ),
    parts=_parts,
    order=1,
)
