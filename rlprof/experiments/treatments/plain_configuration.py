"""Read configurations of OmegaConf as if they were plain objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [{"way": "configuration"}]


TREATMENT: Final = Treatment(
    id="plain-configuration",
    does="reads values of OmegaConf's configurations straight from where they are kept",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"omegaconf-in-loop"}),
    parts=_parts,
)
