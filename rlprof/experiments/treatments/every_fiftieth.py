"""Run the statements of a finding every 50th time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.syntax.read_later import read_later

EVERY: Final = 50
"""Calls of which one is made."""

FINDINGS: Final = frozenset(
    {
        "blocking-io",
        "checkpoint-heavy",
        "history-statistics",
        "monitoring-share",
        "output-per-step",
    }
)


def expect_unread(patient: Patient, file: str, line: int) -> None:
    """Raise :class:`CannotTreatError` where later statements need what the one at a line leaves behind: without it they fail."""
    module = patient.module(file)
    needed = read_later(module, line) if module is not None else ""
    if needed:
        raise CannotTreatError(f"what it writes to {needed} is needed by the lines around it")


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    for file, line in patient.places:
        expect_unread(patient, file, line)
    return patient.edits("every", patient.places, every=EVERY)


TREATMENT: Final = Treatment(
    id="every-fiftieth",
    does="runs its statements every 50th time only",
    kind=TreatmentKind.CEILING,
    findings=FINDINGS,
    parts=_parts,
    leaves=1 / EVERY,
)
