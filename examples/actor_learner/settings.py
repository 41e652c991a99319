"""How large a training is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    agents: int
    """That collect; processes, except in the sequential stages."""
    epochs: int
    steps: int
    """Environment steps of all agents in an epoch."""
    seed: int

    @property
    def total_steps(self) -> int:
        return self.epochs * self.steps
