"""Keep worker processes from one round to the next, and fork them from a server that has imported their packages."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="kept-workers",
    does="runs it anew beside itself, with pools that are kept, and workers forked from a server that has imported their packages",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"process-startup"}),
    restart="kept-workers",
)
