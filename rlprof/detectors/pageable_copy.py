"""Copies through pageable memory, in which the host waits and the driver copies twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.places import places_of
from rlprof.device.transfers import Transfer
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.units import count, duration, percent, size

SMALL_BYTES: Final = 64 * 1024
"""Mean size up to which a copy is started and forgotten: the driver stages it."""

PINNED_BYTES_PER_US: Final = 12_000.0
"""PCIe 3 x16; twice that on PCIe 4."""

MIN_SHARE: Final = 0.01
"""Least share of the wall time, spent by the host in such copies."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    copies = [transfer for transfer in view.transfers if _is_slow(transfer)]
    host_us = sum(copy.host_us for copy in copies)
    if not copies or host_us < MIN_SHARE * view.wall.length:
        return
    sites = [wait for wait in view.waits if wait.site.inner_op in ("aten::copy_", "aten::_to_copy")]
    uploads = [copy for copy in copies if copy.is_upload]
    # Uploads take the host's time itself, which the device may spend idle; reads wait for its work.
    freed = sum(max(0.0, upload.host_us - upload.bytes / PINNED_BYTES_PER_US) for upload in uploads)
    idle = sum(site.idle_us + site.recoverable_us for site in sites)
    bound = min(freed, idle) if uploads else view.idle_us(IdleCause.BLOCKING_COPY)
    moved = sum(copy.bytes for copy in copies)
    number = sum(copy.count for copy in copies)
    yield DeviceFinding(
        title=f"{size(moved)} go through pageable memory",
        saved_us=Range(0.0, bound),
        evidence=(
            f"{count(number)} copies hold the host for {duration(host_us)}, "
            f"{percent(host_us / view.wall.length)} of the trace; on the GPU they take "
            f"{duration(sum(copy.device_us for copy in copies))}",
            f"the GPU has nothing to do for {duration(bound)} of it at most",
        ),
        fix="DataLoader(pin_memory=True), or a pinned buffer made once (torch.empty(..., pin_memory=True)), "
        "and .to(device, non_blocking=True). Pinning anew for each copy costs more than it saves.",
        causes=(IdleCause.BLOCKING_COPY, IdleCause.LAUNCH_BOUND, IdleCause.SYNC),
        places=places_of(sites),
    )


def _is_slow(transfer: Transfer) -> bool:
    return (
        transfer.memory == "pageable"
        and transfer.crosses_bus
        and transfer.bytes > SMALL_BYTES * transfer.count
    )


DETECTOR: Final = Detector(
    id="pageable-copy",
    name="copies through pageable memory",
    in_trace=InTrace(detect),
)
