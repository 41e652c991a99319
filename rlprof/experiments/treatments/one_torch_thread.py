"""Let torch compute in one thread of each process."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment, always, setting
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="one-torch-thread",
    does="has torch compute in one thread of each process",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"thread-oversubscription"}),
    parts=always(setting("torch-threads", threads=1)),
    changes_load=True,
)
