"""A device that waits for the program: for its data, its environments, its Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.analysis.device.idle import LOADER, IdleCause
from rlprof.analysis.device.intervals import Span, common, total, union
from rlprof.analysis.device.view import TraceView
from rlprof.device_detectors.base import DeviceDetector
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Range
from rlprof.units import duration, percent

FEWEST_STEPS: Final = 2
"""In a single step there is no telling what goes on between steps."""

MIN_SHARE: Final = 0.05
"""Of the wall time (the threshold of the TensorBoard plugin for data loading)."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    starved = view.idle_us(IdleCause.DATA)
    if starved < MIN_SHARE * view.wall.length or view.step_count < FEWEST_STEPS:
        return
    gaps = max((it.by_cause.get(IdleCause.DATA, ()) for it in view.idle), key=total, default=())
    regions = _regions(view, gaps)
    loading = sum(us for name, us in regions.items() if name.startswith(LOADER))
    named = sorted(regions.items(), key=lambda item: (-item[1], item[0]))[:3]
    in_turn = any("SingleProcess" in name for name in regions)
    evidence = [
        f"the GPU has nothing to do for {duration(starved)}, {percent(starved / view.wall.length)} of the "
        "trace, while the host is outside of torch or loads data"
    ]
    evidence += [f"{duration(us)} of it in {name}" for name, us in named]
    yield DeviceFinding(
        detector=DETECTOR.id,
        title="the GPU waits for data"
        if 2 * loading > starved
        else "the GPU waits for the program",
        saved_us=Range(0.0, starved),
        evidence=tuple(evidence),
        fix="DataLoader(num_workers=..., pin_memory=True, persistent_workers=True): batches are made in the "
        "main process now."
        if in_turn
        else "Let it overlap: step environments asynchronously, fetch the next batch while the GPU works, "
        "collect with one group of environments while another is learned from. On-policy training "
        "cannot overlap without learning from older policies.",
        confidence=Confidence.BOUNDED,
    )


def _regions(view: TraceView, gaps: Iterable[Span]) -> Mapping[str, float]:
    """Time of the gaps by the named regions around them; steps of the profiler are no names."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in view.trace.annotations:
        if not row.name.startswith("ProfilerStep#"):
            spans[row.name].append((row.ts, row.end))
    listed = list(gaps)
    times = {name: total(common(listed, union(own))) for name, own in spans.items()}
    return {name: us for name, us in times.items() if us > 0}


DETECTOR: Final = DeviceDetector("gpu-starved", "a GPU that waits for data or environments", detect)
