"""Keep the garbage collector from looking at what is there already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment, setting
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.syntax.imports import full_name

_NEVER: Final = 10**9


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    asked_for = [
        patient.call_in_c("every", place.file, place.line, "gc", "collect", every=_NEVER)
        # Not by ``places``: the finding may name no line, and the collector can be set all the same.
        for place in patient.finding.locations
        if _collects(patient, place.file, place.line)
    ]
    # One alone: two would stand in for the same function.
    return [setting("collector"), *asked_for[:1]]


def _collects(patient: Patient, file: str, line: int) -> bool:
    module = patient.module(file)
    called = [node.func for node in patient.calls(file, line)]
    return module is not None and any(
        full_name(function, module.imports) == "gc.collect" for function in called
    )


TREATMENT: Final = Treatment(
    id="frozen-collector",
    does="keeps the garbage collector from what is there, has it run less often, and leaves gc.collect() out",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"gc-pressure"}),
    parts=_parts,
)
