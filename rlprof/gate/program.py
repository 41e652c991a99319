"""A program to measure: what is started, where, and in which environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Side(Enum):
    BASE = "base"
    """What head is held against."""
    HEAD = "head"
    """What is judged."""


@dataclass(frozen=True, slots=True)
class Program:
    side: Side
    command: tuple[str, ...]
    """With its interpreter."""
    script: str
    """How the run is called."""
    folder: Path
    """Where it is started."""
    environment: Mapping[str, str]
    """The whole of it."""
    name: str
    """What it is, for people: ``origin/main (abc1234)``."""
