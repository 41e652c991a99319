"""Keep the garbage collector from looking at what is there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.treatment_desk import TreatmentPart


def _parts(_: Patient) -> Sequence[TreatmentPart]:
    return [setting("collector")]


TREATMENT: Final = Treatment(
    id="frozen-collector",
    does="freezes what is there for the garbage collector, and has it run less often",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"gc-pressure"}),
    parts=_parts,
)
