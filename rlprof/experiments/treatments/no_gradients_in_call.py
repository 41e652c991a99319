"""Make a call without recording gradients: for loops that run once for the whole training, whose statements nobody can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import CannotTreatError, Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart
from rlprof.source.values import value_of


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    parts = [_of_call(patient, file, line) for file, line in patient.places]
    found = [part for part in parts if part is not None]
    if not found:
        raise CannotTreatError("its line was seen to call no function of Python's")
    return found


def _of_call(patient: Patient, file: str, line: int) -> TreatmentPart | None:
    """The outermost call on the line that runs no further than this."""
    for callee in patient.callees(file, line):
        return patient.call_of("without-gradients", file, line, callee)
    known = patient.known(file, line)
    for node in patient.calls(file, line):
        network = value_of(node.func, known)
        if network is not None and network.is_network:
            module, _, name = network.type.rpartition(".")
            return patient.call_named("without-gradients", file, line, module, f"{name}.forward")
    return None


TREATMENT: Final = Treatment(
    id="no-gradients-in-call",
    does="makes the call under torch.no_grad()",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"grads-in-rollout"}),
    parts=_parts,
    order=1,
)
