"""Hand the tasks of a pool to its workers one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.experiments.base import Patient, Treatment
from rlprof.model.experiment import TreatmentKind
from rlprof.recording.mailboxes.treatment_desk import TreatmentPart

_MAPS: Final = (
    ("multiprocessing.pool", "Pool._map_async", 4),
    ("multiprocessing.pool", "Pool.imap", 3),
    ("multiprocessing.pool", "Pool.imap_unordered", 3),
    ("concurrent.futures.process", "ProcessPoolExecutor.map", 0),
)
"""Module, function, and the place of ``chunksize`` among its arguments; 0 where it comes by name alone."""


def _parts(patient: Patient) -> Sequence[TreatmentPart]:
    file, line = patient.places[0]
    return [
        patient.call_named("chunks-of-one", file, line, module, name, position=position)
        for module, name, position in _MAPS
    ]


TREATMENT: Final = Treatment(
    id="tasks-one-by-one",
    does="hands the tasks of the pool to its workers one by one",
    kind=TreatmentKind.GAIN,
    findings=frozenset({"uneven-chunks"}),
    parts=_parts,
    changes_load=True,
)
