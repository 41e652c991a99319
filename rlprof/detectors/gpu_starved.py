"""A device that waits for the program: for its environments, its data, its Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.detectors.dataloader_workers import idle_while_loading
from rlprof.device.intervals import Span, common, total, union
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.tracefile.regions import LOADER, PROFILER_STEP
from rlprof.units import duration, percent

WORTH_NAMING: Final = 0.01
"""Part of that idle time, in a region."""

FEWEST_STEPS: Final = 2
"""In a single step there is no telling what goes on between steps."""

MIN_SHARE: Final = 0.05
"""Least share of the wall time (the threshold of the TensorBoard plugin for data loading)."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    starved = view.idle_us(IdleCause.DATA)
    if starved < MIN_SHARE * view.wall.length or view.step_count < FEWEST_STEPS:
        return
    loading = idle_while_loading(view)
    of_loader = (
        f"; {duration(loading)} of it is a DataLoader's, and priced there" if loading else ""
    )
    gaps = max(
        (device.by_cause.get(IdleCause.DATA, ()) for device in view.idle), key=total, default=()
    )
    regions = _regions(view, gaps)
    ranked = sorted(regions.items(), key=lambda item: (-item[1], item[0]))[:3]
    named = [(name, us) for name, us in ranked if us >= WORTH_NAMING * starved]
    yield DeviceFinding(
        title="the GPU waits for the program",
        saved_us=Range(0.0, max(0.0, starved - loading)),
        evidence=(
            f"the GPU has nothing to do for {duration(starved)}, {percent(starved / view.wall.length)} of the "
            f"trace, while the host is outside of torch or loads data{of_loader}",
            *(f"{duration(us)} of it in {name}" for name, us in named),
        ),
        fix="Let it overlap: step environments asynchronously, fetch the next batch while the GPU works, "
        "collect with one group of environments while another is learned from. On-policy training "
        "cannot overlap without learning from older policies.",
        causes=(IdleCause.DATA,),
    )


def _regions(view: TraceView, gaps: Iterable[Span]) -> Mapping[str, float]:
    """Time of the gaps by the named regions around them, without those that say nothing new."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in view.trace.annotations:
        if not row.name.startswith((PROFILER_STEP, LOADER)):
            spans[row.name].append((row.ts, row.end))
    listed = list(gaps)
    times = {name: total(common(listed, union(own))) for name, own in spans.items()}
    return {name: us for name, us in times.items() if us > 0}


DETECTOR: Final = Detector(
    id="gpu-starved",
    name="a GPU that waits for data or environments",
    in_trace=InTrace(detect),
)
