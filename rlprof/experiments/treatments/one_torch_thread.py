"""Let torch compute in one thread of each process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("torch-threads", threads=1)]


TREATMENT: Final = Treatment(
    id="one-torch-thread",
    does="has torch compute in one thread of each process",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"thread-oversubscription"}),
    parts=_parts,
    changes_load=True,
)
