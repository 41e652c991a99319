"""Matrix products and convolutions in full single precision, on a device with quicker units for less."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.kernels import FP32_MATMUL, kernels_named
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Range
from rlprof.units import duration, percent

MIN_SHARE: Final = 0.2
"""Least share of the time that the device works."""

MIN_BUSY: Final = 0.5
"""Least busy share of the wall time: a device that mostly waits gains nothing from quicker kernels."""

SAVED: Final = 0.75
"""Part of the time of such kernels that is saved at most: large products take a half to a quarter, small ones, bound by
memory, as long as before."""

TF32_MAJOR: Final = 8
"""Compute capability from which on single precision can use tensor cores: Ampere."""

AMP_MAJOR: Final = 7
"""From which on half precision can: Volta."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    busiest = view.busiest
    if busiest is None or view.trace.header.is_rocm or view.busy_share < MIN_BUSY:
        return
    major = next(
        (device.compute_major for device in view.trace.header.devices if device.id == busiest.id), 0
    )
    us = sum(kernel.dur for kernel in kernels_named(view.trace, FP32_MATMUL))
    if major < AMP_MAJOR or us < MIN_SHARE * busiest.busy_us:
        return
    tf32 = major >= TF32_MAJOR
    yield DeviceFinding(
        title="matrix products run in full single precision",
        saved_us=Range(0.0, SAVED * us),
        evidence=(
            f"{duration(us)} in such kernels, {percent(us / busiest.busy_us)} of the time that the GPU works; "
            "none of it on its tensor cores",
            f"the host waits for the GPU for {duration(view.host_waits_us)}: no more than that can be gained",
        ),
        fix='torch.set_float32_matmul_precision("high") uses TF32; torch.autocast("cuda", '
        "dtype=torch.bfloat16) gains more. Compare the learning curves."
        if tf32
        else 'torch.autocast("cuda", dtype=torch.float16) with torch.amp.GradScaler: this GPU has no TF32. '
        "Compare the learning curves.",
        causes=(),
    )


DETECTOR: Final = Detector(
    id="fp32-without-tf32-or-amp",
    name="matrix products in full single precision",
    in_trace=InTrace(detect),
)
