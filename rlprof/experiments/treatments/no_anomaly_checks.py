"""Look for no errors of autograd's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.caught_errors import why_anomalies_are_looked_for


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    read = {file: module for file in patient.sources if (module := patient.module(file))}
    if why := why_anomalies_are_looked_for(read):
        raise CannotTreatError(why)
    return [setting("anomaly-mode")]


TREATMENT: Final = Treatment(
    id="no-anomaly-checks",
    does="switches autograd's anomaly detection off",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"debug-modes"}),
    parts=_parts,
)
