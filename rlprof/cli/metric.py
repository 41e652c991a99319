"""The time that a command compares or draws."""

from __future__ import annotations

from enum import Enum


class Metric(str, Enum):
    WALL = "wall"
    CPU = "cpu"
    """Time on a CPU."""
