"""Collectives of several processes during which a device computes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.kernels import COMMUNICATION, kernels_named
from rlprof.device.timeline import without_by_device
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.1
"""Least share of the wall time (the threshold of the TensorBoard plugin for communication)."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    kernels = kernels_named(view.trace, COMMUNICATION)
    if not kernels:
        return
    names = {kernel.name for kernel in kernels}
    rows = (*view.trace.kernels, *view.trace.copies)
    alone = without_by_device(
        (row for row in rows if row.name in names), (row for row in rows if row.name not in names)
    )
    if alone < MIN_SHARE * view.wall.length:
        return
    yield DeviceFinding(
        title="the GPU waits for other processes",
        saved_us=Range(0.0, alone),
        evidence=(
            f"{count(len(kernels))} collectives; for {duration(alone)}, {percent(alone / view.wall.length)} of "
            "the trace, nothing else runs",
            "it is not told whether the link is slow or another process comes late",
        ),
        fix="DistributedDataParallel overlaps gradients with the backward pass (bucket_cap_mb); no_sync() while "
        "gradients are accumulated; compare the traces of all ranks for one that comes late.",
        confidence=Confidence.SUSPECTED,
        causes=(),
        waits_for_ranks=True,
    )


DETECTOR: Final = Detector(
    id="exposed-communication",
    name="collectives that nothing runs beside",
    in_trace=InTrace(detect),
)
