"""Leave out the checks of torch's distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.caught_errors import why_checks_stay


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    read = {file: module for file in patient.sources if (module := patient.module(file))}
    places = [(place.file, place.line) for place in patient.finding.locations]
    if why := why_checks_stay(read, places):
        raise CannotTreatError(why)
    return [setting("distribution-checks")]


TREATMENT: Final = Treatment(
    id="no-distribution-checks",
    does="leaves out the argument checks of torch's distributions",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"distribution-validation"}),
    parts=_parts,
)
