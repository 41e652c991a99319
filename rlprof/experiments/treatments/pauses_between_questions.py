"""Sleep for a moment after each question whose answer is no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

PAUSE_US: Final = 1_000
_EVENTS: Final = (("multiprocessing.synchronize", "Event"), ("threading", "Event"))
_QUEUES: Final = (("multiprocessing.queues", "Queue"), ("queue", "Queue"))
_PIPES: Final = (("multiprocessing.connection", "_ConnectionBase"),)
_QUESTIONS: Final = {"is_set": (0, _EVENTS), "empty": (1, _QUEUES), "poll": (0, _PIPES)}
"""Questions of the standard library with the answer that says no, and whose they are."""


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    parts = []
    for file, line in patient.places:
        for name in sorted(patient.methods(file, line) & _QUESTIONS.keys()):
            no, kinds = _QUESTIONS[name]
            for module, kind in kinds:
                parts.append(
                    patient.call_named(
                        "pauses", file, line, module, f"{kind}.{name}", no=no, pause_us=PAUSE_US
                    )
                )
    if not parts:
        raise CannotTreatError("its lines ask no event, queue or pipe of Python's")
    return parts


TREATMENT: Final = Treatment(
    id="pauses-between-questions",
    does="sleeps for 1 ms after each question whose answer is no",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"ipc-polling"}),
    parts=_parts,
)
