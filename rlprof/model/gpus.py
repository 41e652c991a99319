"""What GPUs did in the steady phase."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU, by the means of its gauges over the steady phase. None: it was not told.

    All but ``process_bytes`` is of the whole GPU, whoever used it.
    """

    index: int
    """As the driver counts, which is not always as the program counts."""
    name: str
    utilisation: float | None = None
    """Part of the time in which some kernel ran, however small."""
    memory_bytes: float | None = None
    memory_total_bytes: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    clock_share: float | None = None
    """Of the highest clock of its multiprocessors. It falls by itself while there is little to do."""
    temperature_c: float | None = None
    throttled_by_heat: float | None = None
    """Part of the time in which its clock was lowered because it was too hot."""
    throttled_by_power: float | None = None
    """As above, to stay within the power limit."""
    process_bytes: tuple[tuple[int, float], ...] = ()
    """(process, memory that it held) for those of the run, the most first; empty where the driver
    does not tell, as inside most containers."""
