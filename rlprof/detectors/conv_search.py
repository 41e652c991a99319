"""Convolutions whose algorithm is searched for again while it trains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.steps import first_step_end
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Range
from rlprof.model.trace import Row
from rlprof.units import count, duration

MIN_SHARE: Final = 0.02
"""Least share of the wall time, by what the searches take more than a convolution does."""

SEARCH: Final = calibrated(
    20.0,
    unit="times the median convolution of its kind",
    source="traces: trying a few algorithms takes 70 ms and more",
    date="2026-11-21",
)
"""Length from which on an op tried several algorithms."""

FEWEST_OPS: Final = 10
"""Fewest ops of a kind, to know a usual one."""

_LIBRARIES: Final = (
    "aten::cudnn_convolution",
    "aten::miopen_convolution",
    "aten::miopen_depthwise",
)


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    # The first step searches in any case, and the window may begin with it.
    since = first_step_end(view.trace)
    if since is None:
        return
    kinds: dict[str, list[Row]] = defaultdict(list)
    for op in view.trace.ops:
        if op.name.startswith(_LIBRARIES):
            kinds[op.name].append(op)
    usual = {name: median(op.dur for op in ops) for name, ops in kinds.items()}
    searches = [
        op
        for name, ops in kinds.items()
        for op in ops
        if len(ops) >= FEWEST_OPS and op.ts >= since and op.dur > SEARCH * usual[name]
    ]
    us = sum(op.dur - usual[op.name] for op in searches)
    if us < MIN_SHARE * view.wall.length:
        return
    yield DeviceFinding(
        title="algorithms for convolutions are searched for while it trains",
        saved_us=Range(0.0, min(us, view.idle_in((op.ts, op.end) for op in searches))),
        evidence=(
            f"{count(len(searches))} convolutions take {duration(us)} more than such a one usually does: "
            "a new shape of the input starts a search",
        ),
        fix="Keep the sizes of inputs fixed (pad the last batch, drop_last=True), or "
        "torch.backends.cudnn.benchmark = False while they vary; AMD: MIOPEN_FIND_MODE=FAST.",
    )


DETECTOR: Final = Detector(
    id="conv-search",
    name="searches for convolution algorithms",
    in_trace=InTrace(detect),
)
