"""Fork workers from a server that has imported their packages already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart

_IMPORTING: Final = frozenset({"spawn", "forkserver"})
"""Ways to start a process that then imports everything."""


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    if not patient.start_methods & _IMPORTING:
        raise CannotTreatError(
            "its workers are forked, and import nothing: keep them from one round to the next"
        )
    return []


TREATMENT: Final = Treatment(
    id="preloaded-workers",
    does="runs it anew beside itself, with workers forked from a server that has imported their packages already",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"process-startup"}),
    parts=_parts,
    restart="preloaded-workers",
)
