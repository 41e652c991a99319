"""A device that waits for a DataLoader: without workers, or with too few."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.intervals import common, total, union
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.model.trace import Row
from rlprof.tracefile.regions import LOADER
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.05
"""Least share of the wall time (the threshold of the TensorBoard plugin for data loading)."""

FEWEST_BATCHES: Final = 2

STARTING: Final = 2.0
"""Times the median of the others: a first batch that takes longer waits for its workers to start."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    idle = idle_while_loading(view)
    if not idle:
        return
    loading = _loading(view)
    in_turn = any("SingleProcess" in event.name for event in loading)
    evidence = [
        f"{count(len(loading))} batches hold the host for {duration(sum(event.dur for event in loading))}; for "
        f"{duration(idle)} of it, {percent(idle / view.wall.length)} of the trace, the GPU has nothing to do",
        "they are made in the main process, one after the other"
        if in_turn
        else "the workers do not keep up",
    ]
    if any(transfer.is_upload and transfer.memory == "pageable" for transfer in view.transfers):
        evidence.append("they go to the GPU through pageable memory")
    yield DeviceFinding(
        title="the GPU waits for a DataLoader without workers"
        if in_turn
        else "the GPU waits for a DataLoader's workers",
        saved_us=Range(0.0, idle),
        evidence=tuple(evidence),
        fix="DataLoader(num_workers=4, pin_memory=True, persistent_workers=True): batches are made beside the "
        "training."
        if in_turn
        else "More workers while CPUs are free, less work for each sample, pin_memory=True, a larger "
        "prefetch_factor; or data that is decoded once and kept.",
        causes=(IdleCause.DATA,),
    )


def idle_while_loading(view: TraceView) -> float:
    """Time in µs in which a device waits for a DataLoader and nothing else; 0 where that is not much."""
    loading = _loading(view)
    spans = union((event.ts, event.end) for event in loading)
    idle = max(
        (total(common(device.by_cause.get(IdleCause.DATA, ()), spans)) for device in view.idle),
        default=0.0,
    )
    is_much = idle >= MIN_SHARE * view.wall.length and len(loading) >= FEWEST_BATCHES
    return idle if is_much else 0.0


def _loading(view: TraceView) -> list[Row]:
    """The waits for batches, without one for a loader that starts."""
    rows = [
        annotation for annotation in view.trace.annotations if annotation.name.startswith(LOADER)
    ]
    if len(rows) > 1 and rows[0].dur > STARTING * median(row.dur for row in rows[1:]):
        return rows[1:]
    return rows


DETECTOR: Final = Detector(
    id="dataloader-workers",
    name="a DataLoader with too few workers",
    in_trace=InTrace(detect),
)
