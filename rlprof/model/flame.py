"""A call tree laid out for drawing: merged, filtered, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rlprof.model.profile import PhaseKind


class FlameFrame(NamedTuple):
    """One box of a flamegraph, in preorder; ``parent`` indexes the same tuple (-1 for the root)."""

    parent: int
    depth: int
    label: str
    """``function``; for process and thread roots their name."""
    file: str
    line: int
    kind: str
    """``root``, ``process``, ``thread``, ``yours``, ``library``, ``stdlib`` or ``runtime``."""
    wall_us: int
    idle_us: int
    cpu_us: int
    left_out_us: int = 0
    """Time, by the metric, of boxes right below it that are too thin to keep."""


@dataclass(frozen=True, slots=True)
class FlameSelection:
    """Selection to draw; every field at its default draws all."""

    metric: str = "wall"
    """``wall`` or ``cpu``."""
    process: str | None = None
    """A pid, or a part of the process's role or command."""
    thread: str | None = None
    """A part of the thread's name, or its tid."""
    phase: PhaseKind | None = None


@dataclass(frozen=True, slots=True)
class Flame:
    """A flamegraph of one selection of a run."""

    title: str
    metric: str
    """``wall`` or ``cpu``: what widths mean."""
    selection: str
    """Selection in words; empty for all."""
    frames: tuple[FlameFrame, ...]
    """Preorder; siblings by label, then line. ``frames[0]`` is the root."""
    pruned_share: float = 0.0
    """Share of the metric in boxes too thin to keep; their time stays in their parents."""
