"""Choose how often to look, so that looking stays within its budget."""

from __future__ import annotations

from typing import Final

from rlprof.model.calibration import calibrated
from rlprof.recording.settings import DEFAULT_INTERVAL_US
from rlprof.recording.timeline import SETTLED_US

FINE_INTERVAL_US: Final = 4_000
FINE_FOR_US: Final = 4_000_000
"""A process is sampled finer at first while cores are free: short runs get samples enough."""

SAMPLER_SHARE: Final = 0.003
"""Share of a core that the sampler of a settled process may take. With 2 to 3 ‰ of the stack probe and as much of
the recorder that is below 1 %."""

ALL_SAMPLERS_SHARE: Final = 0.005
"""Share of all cores that all samplers of a settled run may take together."""

MOST_CROWDED: Final = 10
"""Processes per core from which on the rate of the first seconds falls no further: 10 Hz."""

SLOWEST_US: Final = 500_000
"""Two looks a second: fewer would leave windows of a second without any."""

GRID_US: Final = 10_607
"""Intervals of settled processes are multiples of this: a small change is not worth a new sampler. Not a round
number, for programs sleep in round periods: looks every 50 ms see a cycle of 100 ms at two moments only."""

SETTLED_PROBE_US: Final = calibrated(
    26_183,
    unit="µs of CPU time",
    source="a look takes about 50 µs",
    date="2026-11-22",
)
"""CPU time between two looks of the stack probe from then on: 2 ‰ of the target's time. No round number
either."""


class SamplingBudget:
    """Intervals of samplers and probes, from what they cost and how many share the machine."""

    def __init__(self, fixed_interval_us: int | None, usable_cores: float) -> None:
        """A ``fixed_interval_us`` was asked for, and is kept whatever it costs."""
        self._fixed_us = fixed_interval_us
        self._usable_cores = usable_cores

    def first_interval_us(self, live: int) -> int:
        """The interval for a process that has just begun, beside ``live`` others."""
        if self._fixed_us is not None:
            return self._fixed_us
        if live < self._usable_cores:
            return FINE_INTERVAL_US
        return self._shared_interval_us(live)

    def interval_us(self, current_us: int, *, share: float, live: int, now_us: int) -> int:
        """The interval to follow on ``current_us``, at which a sampler took ``share`` of a core; the same
        unless it is off by half.
        """
        if self._fixed_us is not None:
            return self._fixed_us
        wanted = self._shared_interval_us(live)
        if now_us >= SETTLED_US:
            wanted = max(wanted, self._affordable_us(current_us, share, live))
        is_near = current_us < 2 * wanted and wanted < 2 * current_us
        # Coarser only: a finer look would be for a moment, and every change costs a new sampler.
        return current_us if is_near or wanted < current_us else wanted

    def probe_interval_us(self, now_us: int) -> int:
        if self._fixed_us is not None:
            return self._fixed_us
        return SETTLED_PROBE_US if now_us >= SETTLED_US else DEFAULT_INTERVAL_US

    def _affordable_us(self, current_us: int, share: float, live: int) -> int:
        allowed = min(SAMPLER_SHARE, ALL_SAMPLERS_SHARE * self._usable_cores / max(1, live))
        steps = -(-current_us * share // (allowed * GRID_US))
        return int(min(SLOWEST_US, max(GRID_US, steps * GRID_US)))

    def _shared_interval_us(self, live: int) -> int:
        """The default for as many processes as cores; with more, the cores are shared out.

        A process that gets a quarter of a core tells as much at a quarter of the rate, and eight
        samplers at 10 ms on two cores took 6 % of them.
        """
        crowd = min(MOST_CROWDED, max(1, round(live / self._usable_cores)))
        return DEFAULT_INTERVAL_US * crowd
