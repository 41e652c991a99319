"""rlprof: why reinforcement-learning training is slow, and what each fix is worth.

Inside a training script only :func:`step` is needed. This module imports the
standard library alone and runs on Python 3.9 or newer.
"""

from __future__ import annotations

from array import array
from typing import MutableSequence

__all__ = ["__version__", "step"]

__version__ = "0.1.0"

_cells: MutableSequence[int] = array("q", [0])
"""The step counter of this process. Under ``rlprof run`` the agent puts shared memory in its
place, so that a count needs no call out of the process and outlives a crash of it."""


def step(n: int = 1) -> None:
    """Count ``n`` environment steps: call it where your program makes them.

    Costs well under 1 µs and needs no rlprof running. Steps of all processes add up.
    """
    _cells[0] += n
