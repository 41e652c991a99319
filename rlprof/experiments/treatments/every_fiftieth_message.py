"""Send every 50th message only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.experiments.treatments.every_fiftieth import EVERY
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

_QUEUES: Final = (("multiprocessing.queues", "Queue"), ("multiprocessing.queues", "SimpleQueue"))
_PIPES: Final = (("multiprocessing.connection", "_ConnectionBase"),)
_SENDERS: Final = {"put": _QUEUES, "send": _PIPES, "send_bytes": _PIPES}


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    parts = []
    for file, line in patient.places:
        for name in sorted(patient.methods(file, line) & _SENDERS.keys()):
            for module, kind in _SENDERS[name]:
                parts.append(
                    patient.call_named(
                        "every", file, line, module, f"{kind}.{name}", every=EVERY, messages=1
                    )
                )
    if not parts:
        raise CannotTreatError("its lines put nothing into a queue or a pipe")
    return parts


TREATMENT: Final = Treatment(
    id="every-fiftieth-message",
    does="sends every 50th message only",
    kind=TreatmentKind.CEILING,
    findings=frozenset(
        {
            "model-publish",
            "pickle-heavy",
        }
    ),
    parts=_parts,
    leaves=1 / EVERY,
)
