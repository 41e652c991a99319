"""Make every 50th call of the whole function around a line only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.experiments.treatments.every_fiftieth import EVERY, FINDINGS
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

MOST: Final = 4
"""Functions that are left out at once."""
_SEND: Final = frozenset({"model-publish", "pickle-heavy"})


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    parts: dict[tuple[str, int], TreatmentPart] = {}
    for file, line in patient.places[:MOST]:
        around = patient.function(file, line)
        part = patient.call_of_function("every", file, line, every=EVERY, messages=1)
        parts.setdefault((file, around.code_line), part)
    # Other findings' further lines may be anywhere; who sends, sends from several.
    return [*parts.values()] if patient.finding.detector in _SEND else [*parts.values()][:1]


TREATMENT: Final = Treatment(
    id="every-fiftieth-function",
    does="runs the whole function every 50th time only, and otherwise answers as it did last",
    kind=TreatmentKind.CEILING,
    findings=FINDINGS | _SEND | {"lock-contention", "stale-training"},
    parts=_parts,
    leaves=1 / EVERY,
    order=2,
)
