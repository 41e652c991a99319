"""What a rollout holds: tensors on the training's device, made once and written in place."""

from __future__ import annotations

import torch
from gridworld import OBSERVATION_SIZE
from network import Batch
from settings import Settings


class Rollout:
    """A row for each step in time, and in it an item for each environment."""

    def __init__(self, settings: Settings) -> None:
        self.steps, self.num_envs, self.device = settings.steps, settings.num_envs, settings.device
        shape, device = (self.steps, self.num_envs), self.device
        self.observations = torch.zeros(*shape, OBSERVATION_SIZE, device=device)
        self.actions = torch.zeros(shape, dtype=torch.int64, device=device)
        self.log_probs = torch.zeros(shape, device=device)
        self.values = torch.zeros(shape, device=device)
        self.rewards = torch.zeros(shape, device=device)
        self.over = torch.zeros(shape, device=device)
        """One where the step ended an episode, else zero."""
        self.last_values = torch.zeros(settings.num_envs, device=device)
        """Of what is seen after the last step."""

    def write(
        self,
        t: int,
        observations: torch.Tensor,
        actions: torch.Tensor,
        log_probs: torch.Tensor,
        values: torch.Tensor,
        rewards: torch.Tensor,
        over: torch.Tensor,
    ) -> None:
        self.observations[t] = observations
        self.actions[t] = actions
        self.log_probs[t] = log_probs
        self.values[t] = values
        self.rewards[t] = rewards
        self.over[t] = over

    def batch(self, advantages: torch.Tensor) -> Batch:
        """All steps, one below the other."""
        return Batch(
            self.observations.flatten(0, 1),
            self.actions.flatten(),
            self.log_probs.flatten(),
            advantages.flatten(),
            (advantages + self.values).flatten(),
        )
