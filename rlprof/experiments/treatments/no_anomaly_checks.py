"""Look for no errors of autograd's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("anomaly-mode")]


TREATMENT: Final = Treatment(
    id="no-anomaly-checks",
    does="switches autograd's anomaly detection off",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"debug-modes"}),
    parts=_parts,
)
