"""Update all parameters of an optimizer in one operation."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="fused-optimizer",
    does="runs it anew beside itself, with fused=True in all optimizers that torch can fuse",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"optimizer-not-fused"}),
    restart="fused-optimizers",
)
