"""Search for no algorithm of a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("torch-switch", values="torch.backends.cudnn.benchmark=0")]


TREATMENT: Final = Treatment(
    id="no-algorithm-search",
    does="switches cuDNN's search for algorithms off, which may change low digits",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"conv-search"}),
    parts=_parts,
)
