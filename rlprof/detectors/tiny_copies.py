"""Many copies of a few bytes, each with the cost of a call and a launch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.places import per_step
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, size

MIN_PER_STEP: Final = 10.0
TINY_BYTES: Final = 4 * 1024
HOST_US: Final = calibrated(
    10.0,
    unit="µs",
    source="traces of nine programs: medians of 3 to 16 for copies of up to 4 KiB",
    date="2026-11-23",
)
"""Time that starting one takes on the host."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    tiny = [
        transfer
        for transfer in view.transfers
        if transfer.crosses_bus and transfer.median_bytes <= TINY_BYTES
    ]
    number = sum(transfer.count for transfer in tiny)
    if not view.step_count or per_step(number, view) < MIN_PER_STEP:
        return
    steps = max(1, view.step_count)
    idle = max((view.wall.length - device.busy_us for device in view.devices), default=0.0)
    yield DeviceFinding(
        title=f"{count(round(per_step(number, view)))} copies of a few bytes per step",
        saved_us=Range(0.0, min((number - steps) * HOST_US, idle)),
        evidence=(
            f"{count(number)} copies between host and GPU, half of them of "
            f"{size(max(transfer.median_bytes for transfer in tiny))} or less",
        ),
        fix="Pack what belongs together (observation, reward, done) into one buffer and copy it once; "
        "torch.stack numbers before they are read.",
        causes=(IdleCause.BLOCKING_COPY, IdleCause.SYNC, IdleCause.LAUNCH_BOUND),
    )


DETECTOR: Final = Detector(
    id="tiny-copies",
    name="many copies of a few bytes",
    in_trace=InTrace(detect),
)
