"""Sum what the critical threads spend in each quarter of the steady phase, which shows what takes longer as the training goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from rlprof.model.profile import Quarter
from rlprof.model.recording import Recording
from rlprof.pace.pace import Pace

QUARTERS: Final = 4


def steady_quarters(
    recording: Recording, pace: Pace, critical: Collection[int]
) -> tuple[Quarter, ...]:
    """Return four of them, of as many windows each; none where a quarter has no steps, or nothing counted them."""
    steady = pace.steady
    if steady is None or steady.last - steady.first + 1 < QUARTERS:
        return ()
    windows = steady.last - steady.first + 1
    steps = [0.0] * QUARTERS
    for counted in pace.counts.per_window.values():
        for window in range(steady.first, min(steady.last + 1, len(counted))):
            steps[(window - steady.first) * QUARTERS // windows] += counted[window]
    if not all(steps):
        return ()
    costs: list[dict[int, int]] = [defaultdict(int) for _ in range(QUARTERS)]
    samples = recording.samples
    for window, thread, node, wall_us in zip(
        samples.window, samples.thread, samples.node, samples.wall_us, strict=True
    ):
        if thread in critical and steady.first <= window <= steady.last:
            costs[(window - steady.first) * QUARTERS // windows][node] += wall_us
    return tuple(Quarter(made, dict(spent)) for made, spent in zip(steps, costs, strict=True))
