"""Compiled code that falls back to Python in the middle, or is compiled again while it trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Range
from rlprof.units import count, duration

MIN_SHARE: Final = 0.01
"""Least share of the wall time, spent in compiling."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    facts = view.compiling
    if facts.compiling_us >= MIN_SHARE * view.wall.length and view.wall.length:
        yield DeviceFinding(
            title="torch.compile compiles while it trains",
            saved_us=Range(0.0, facts.compiling_us),
            evidence=(
                f"{duration(facts.compiling_us)} in compilation; {count(facts.recompiled)} pieces were "
                "compiled again for other shapes or values",
            ),
            fix="Warm up before measuring; mark sizes that change (torch._dynamo.mark_dynamic, "
            "dynamic=True) or pad them; TORCH_LOGS=recompiles tells why.",
            confidence=Confidence.BOUNDED if facts.recompiled else Confidence.SUSPECTED,
        )
    if facts.regions_per_call > 1:
        yield DeviceFinding(
            title=f"compiled code is broken into {facts.regions_per_call:.3g} pieces",
            saved_us=Range(0.0, view.idle_us(IdleCause.LAUNCH_BOUND)),
            evidence=(
                f"{count(facts.regions)} compiled pieces run where one could: Python runs in between",
            ),
            fix="TORCH_LOGS=graph_breaks tells where; take print, .item() and data-dependent branches out; "
            "fullgraph=True makes a break an error.",
            confidence=Confidence.SUSPECTED,
            causes=(IdleCause.LAUNCH_BOUND,),
        )


DETECTOR: Final = Detector(
    id="graph-breaks",
    name="compiled code with breaks, or compiled again",
    in_trace=InTrace(detect),
)
