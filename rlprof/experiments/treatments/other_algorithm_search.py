"""Search for algorithms of convolutions where the program does not, and do not where it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("torch-switch", values="torch.backends.cudnn.benchmark=other")]


TREATMENT: Final = Treatment(
    id="other-algorithm-search",
    does="switches cuDNN's search for algorithms on where it is off and off where it is on, which may change low digits",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"conv-search"}),
    parts=_parts,
    on_gpus=True,
)
