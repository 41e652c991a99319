"""Tell what is asked of a GPU, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """Facts of one GPU that do not change while a run lasts."""

    name: str
    uuid: str = ""
    memory_bytes: int | None = None
    compute_capability: str = ""
    """``9.0``; AMD's targets as compilers call them, ``gfx942``."""
    max_clock_mhz: float | None = None
    power_limit_w: float | None = None

    def texts(self) -> dict[str, str]:
        """Return what is known of it, by name."""
        told = {
            "name": self.name,
            "memory_bytes": self.memory_bytes,
            "compute_capability": self.compute_capability,
            "max_clock_mhz": self.max_clock_mhz,
            "power_limit_w": self.power_limit_w,
        }
        return {
            name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value in told.items()
            if value not in (None, "")
        }


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU at one moment."""

    levels: Mapping[str, float]
    """Levels of the whole GPU, by the names of ``model/gauges.py``; what is not told is left out."""
    process_bytes: Mapping[int, int] = field(default_factory=dict)
    """Memory on it by pid, in the numbering of the driver."""


class GpuLibrary(Protocol):
    """A driver's library, set up. What one GPU does not tell is left out of its state."""

    @property
    def driver(self) -> str:
        """The maker of the driver, and its version."""

    @property
    def gpus(self) -> Mapping[int, GpuFacts]:
        """Those that may be asked, by the library's own index."""

    def masks(self, environment: Mapping[str, str]) -> tuple[str | None, ...]:
        """The values of the variables that hide GPUs from a program, in the order they apply."""

    def read(self, index: int) -> GpuState:
        """Raise whatever the library raises when the GPU can no longer be asked."""

    def close(self) -> None: ...
