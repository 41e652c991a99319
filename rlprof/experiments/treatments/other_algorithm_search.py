"""Search for algorithms of convolutions where the program does not, and do not where it does."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment, always, setting
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="other-algorithm-search",
    does="switches cuDNN's search for algorithms on where it is off and off where it is on, which may change low digits",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"conv-search"}),
    parts=always(setting("torch-switch", values="torch.backends.cudnn.benchmark=other")),
    on_gpus=True,
)
