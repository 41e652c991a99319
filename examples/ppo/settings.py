"""How large a training is, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Settings:
    num_envs: int
    updates: int
    steps: int
    """Of each environment, between two updates."""
    seed: int
    device: torch.device

    @property
    def steps_per_update(self) -> int:
        """Of all environments."""
        return self.steps * self.num_envs
