"""Counts environment steps for rlprof where it is installed, and nothing where it is not."""

from __future__ import annotations

try:
    from rlprof import step
except ImportError:

    def step(n: int = 1) -> None:
        """Without rlprof nobody asks."""


__all__ = ["step"]
