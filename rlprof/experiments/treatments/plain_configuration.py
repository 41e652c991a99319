"""Read configurations of OmegaConf as if they were plain objects."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment, always
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="plain-configuration",
    does="reads values of OmegaConf's configurations straight from where they are kept",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"omegaconf-in-loop"}),
    parts=always({"way": "configuration"}),
)
