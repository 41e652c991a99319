"""Tensors that are filled on the CPU and copied to the device right after."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.host import call_sites
from rlprof.device.places import per_step, place
from rlprof.device.transfers import uploads
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.model.trace import Row
from rlprof.units import count, duration

MIN_PER_STEP: Final = 1.0
FEWEST: Final = 3

RIGHT_AFTER_US: Final = 100.0
"""From the end of the one op to the start of the other: what is used again is copied later."""

_FILLED: Final = frozenset(
    f"aten::{name}"
    for name in ("zeros", "ones", "full", "arange", "linspace", "eye", "rand", "randn", "randint", "randperm",
                 "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")
)  # fmt: skip
_MOVED: Final = frozenset({"aten::to", "aten::_to_copy", "aten::copy_"})


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    pairs = [*_pairs(view)]
    often = per_step(len(pairs), view) >= MIN_PER_STEP
    if not view.step_count or len(pairs) < FEWEST or not often:
        return
    spans = [(built.ts, moved.end) for built, moved in pairs]
    first, last = pairs[0]
    (site,) = call_sites(view.trace, [last])
    held = sum(end - start for start, end in spans)
    yield DeviceFinding(
        title="tensors are made on the CPU and then copied to the GPU",
        saved_us=Range(0.0, view.idle_in(spans)),
        evidence=(
            f"{count(len(pairs))} times, {first.name} first: {duration(held)} of the host, of which the GPU has "
            f"nothing to do for {duration(view.idle_in(spans))}",
        ),
        fix="Make them there: torch.zeros(..., device=device). What does not change, once before the loop.",
        causes=(IdleCause.BLOCKING_COPY, IdleCause.LAUNCH_BOUND, IdleCause.SYNC, IdleCause.OTHER),
        places=(place(site, len(pairs), held),),
    )


def _pairs(view: TraceView) -> Iterator[tuple[Row, Row]]:
    numbers = {copy.args.correlation for copy in uploads(view.trace)}
    if not numbers:
        return
    copying = [call.ts for call in view.trace.calls if call.args.correlation in numbers]
    calls = [call.ts for call in view.trace.calls]
    before: dict[object, Row] = {}
    for op in view.outermost_ops:
        built = before.get(op.thread)
        before[op.thread] = op
        if (
            built is not None
            and built.name in _FILLED
            and op.name in _MOVED
            and op.ts - built.end < RIGHT_AFTER_US
            and _any_in(copying, op)
            # One that is made on the device launches a kernel.
            and not _any_in(calls, built)
        ):
            yield built, op


def _any_in(starts: list[float], row: Row) -> bool:
    at = bisect_right(starts, row.ts)
    return at < len(starts) and starts[at] < row.end


DETECTOR: Final = Detector(
    id="built-on-cpu-then-moved",
    name="tensors made on the CPU, then copied",
    in_trace=InTrace(detect),
)
