"""Answer a function by what an input of the same shape got before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, call
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    file, line = patient.places[0]
    function = patient.function(file, line)
    return [call("from-memory", file, function.code_line, function.node.name)]


TREATMENT: Final = Treatment(
    id="from-memory",
    does="answers the whole function by what an input of the same shape got before",
    kind=TreatmentKind.CEILING,
    findings=frozenset(
        {
            "array-conversion-in-loop",
            "copied-rows",
            "deepcopy-in-loop",
            "gae-loop",
            "hot-spot",
            "number-loop",
            "numpy-tiny-ops",
            "python-env-loop",
            "python-loop-over-tensor",
            "repeated-work",
            "replay-sampling",
            "slow-call",
            "table-sweep",
        }
    ),
    parts=_parts,
    order=2,
)
