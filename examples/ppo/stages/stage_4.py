"""PPO on a grid world, with each step written into tensors that are made once.

rlprof should find: a log record is written for each episode (output-per-step).
"""

from __future__ import annotations

import logging
from statistics import fmean

import numpy as np
import torch
from counting import step
from gridworld import GridWorld, observe
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

logger = logging.getLogger("ppo")


class Episodes:
    """The episodes that ended since the last update."""

    def __init__(self) -> None:
        self.returns: list[float] = []

    @property
    def mean_return(self) -> float:
        return fmean(self.returns) if self.returns else 0.0

    def add(self, steps: int, total: float) -> None:
        self.returns.append(total)
        logger.info("episode of %d steps, return %.2f", steps, total)


def train(settings: Settings) -> Progress:
    learner = Learner(settings.seed, settings.device)
    first = settings.seed * settings.num_envs
    envs = [GridWorld(first + index) for index in range(settings.num_envs)]
    rollout = Rollout(settings)
    progress = Progress(settings)
    while not progress.is_over:
        episodes = Episodes()
        collect(envs, learner.network, rollout, episodes)
        losses = update(learner, rollout.batch(advantages_of(rollout)))
        progress.report(episodes.mean_return, losses)
    return progress


def collect(
    envs: list[GridWorld], policy: ActorCritic, rollout: Rollout, episodes: Episodes
) -> None:
    """Play all environments for a rollout."""
    for t in range(rollout.steps):
        observations = torch.from_numpy(observe(envs)).to(rollout.device)
        actions, log_probs, values = policy.act(observations)
        results = [env.step(action) for env, action in zip(envs, actions.tolist())]
        rewards, over = torch.from_numpy(np.array(results, np.float32)).to(rollout.device).T
        rollout.write(t, observations, actions, log_probs, values, rewards, over)
        for env, (_, ended) in zip(envs, results):
            if ended:
                episodes.add(*env.episode)
        step(len(envs))
    observations = torch.from_numpy(observe(envs)).to(rollout.device)
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
