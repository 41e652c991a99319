"""PPO on a grid world, with the state of all environments in arrays.

rlprof should find: on a GPU, each step waits for the actions to reach the environments on the host
(rollout-round-trip). On a CPU that costs nothing, and nothing may be promised for it.
"""

from __future__ import annotations

from statistics import fmean

import numpy as np
import torch
from counting import step
from grid_arrays import GridArrays
from network import ActorCritic, Batch, Learner
from progress import Progress
from settings import Settings
from storage import Rollout

EPOCHS = 3
"""How often an update trains on each step."""
MINIBATCHES = 8
"""In an epoch."""
DISCOUNT = 0.97
SMOOTHING = 0.95
"""Lambda of the advantages."""


class Episodes:
    """The episodes that ended since the last update."""

    def __init__(self) -> None:
        self.returns: list[float] = []

    @property
    def mean_return(self) -> float:
        return fmean(self.returns) if self.returns else 0.0

    def add(self, totals: np.ndarray) -> None:
        self.returns += totals.tolist()


def train(settings: Settings) -> Progress:
    learner = Learner(settings.seed, settings.device)
    envs = GridArrays(settings.num_envs, settings.seed)
    rollout = Rollout(settings)
    progress = Progress(settings)
    while not progress.is_over:
        episodes = Episodes()
        collect(envs, learner.network, rollout, episodes)
        losses = update(learner, rollout.batch(advantages_of(rollout)))
        progress.report(episodes.mean_return, losses)
    return progress


def collect(envs: GridArrays, policy: ActorCritic, rollout: Rollout, episodes: Episodes) -> None:
    """Play all environments for a rollout."""
    for t in range(rollout.steps):
        observations = torch.from_numpy(envs.observe()).to(rollout.device)
        actions, log_probs, values = policy.act(observations)
        rewards, over = envs.step(actions.cpu().numpy())
        got, ended = (torch.from_numpy(it).to(rollout.device) for it in (rewards, over))
        rollout.write(t, observations, actions, log_probs, values, got, ended)
        _, totals = envs.ended
        episodes.add(totals[over])
        step(rollout.num_envs)
    observations = torch.from_numpy(envs.observe()).to(rollout.device)
    rollout.last_values = policy.value(observations)


def advantages_of(rollout: Rollout) -> torch.Tensor:
    """Generalized advantage estimation (Schulman et al. 2016)."""
    advantages = torch.zeros_like(rollout.rewards)
    following = rollout.last_values
    advantage = torch.zeros_like(following)
    for t in reversed(range(rollout.steps)):
        goes_on = 1.0 - rollout.over[t]
        expected = rollout.rewards[t] + DISCOUNT * following * goes_on
        error = expected - rollout.values[t]
        advantage = error + DISCOUNT * SMOOTHING * goes_on * advantage
        advantages[t] = advantage
        following = rollout.values[t]
    return advantages


def update(learner: Learner, batch: Batch) -> list[float]:
    """Train on a rollout; returns the mean losses."""
    losses: list[list[float]] = []
    for _ in range(EPOCHS):
        order = torch.randperm(len(batch.actions), device=batch.actions.device)
        for indices in order.chunk(MINIBATCHES):
            loss = learner.learn(batch.rows(indices))
            losses.append([part.item() for part in loss])
    return [fmean(column) for column in zip(*losses)]
