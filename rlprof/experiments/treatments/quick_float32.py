"""Let a GPU round the inputs of matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [
        setting(
            "torch-switch",
            values="torch.backends.cuda.matmul.allow_tf32=1 torch.backends.cudnn.allow_tf32=1",
        )
    ]


TREATMENT: Final = Treatment(
    id="quick-float32",
    does="lets matrix products and convolutions use TF32, which changes their low digits",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"fp32-without-tf32-or-amp"}),
    parts=_parts,
    on_gpus=True,
)
