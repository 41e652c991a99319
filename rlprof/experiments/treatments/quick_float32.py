"""Let a GPU round the inputs of matrix products and convolutions."""

from __future__ import annotations

from typing import Final

from rlprof.experiments.base import Treatment, always, setting
from rlprof.model.experiment import TreatmentKind

TREATMENT: Final = Treatment(
    id="quick-float32",
    does="lets matrix products and convolutions use TF32, which changes their low digits",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"fp32-without-tf32-or-amp"}),
    parts=always(
        setting(
            "torch-switch",
            values="torch.backends.cuda.matmul.allow_tf32=1 torch.backends.cudnn.allow_tf32=1",
        )
    ),
    on_gpus=True,
)
