"""PPO on a grid world, tuned, but for an optimizer that somebody took apart to look for a NaN.

rlprof should find: the optimizer goes through the parameters one by one (optimizer-not-fused).
"""

from __future__ import annotations

import torch
from counting import step
from grid_tensors import GridTensors
from network import LEARNING_RATE, ActorCritic, Batch, Learner
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

    def __init__(self, device: torch.device) -> None:
        self.count = torch.zeros((), device=device)
        self.returns = torch.zeros((), device=device)

    @property
    def mean_return(self) -> torch.Tensor:
        return self.returns / self.count.clamp(min=1)

    def add(self, over: torch.Tensor, totals: torch.Tensor) -> None:
        self.count += over.sum()
        self.returns += (over * totals).sum()


def train(settings: Settings) -> Progress:
    learner = Learner(settings.seed, settings.device)
    # To see which of them becomes NaN.
    learner.optimizer = torch.optim.Adam(
        learner.network.parameters(), lr=LEARNING_RATE, foreach=False
    )
    envs = GridTensors(settings.num_envs, settings.seed, settings.device)
    rollout = Rollout(settings)
    progress = Progress(settings)
    while not progress.is_over:
        episodes = Episodes(settings.device)
        collect(envs, learner.network, rollout, episodes)
        losses = update(learner, rollout.batch(advantages_of(rollout)))
        mean_return, *means = torch.cat((episodes.mean_return[None], losses)).tolist()
        progress.report(mean_return, means)
    return progress


def collect(envs: GridTensors, policy: ActorCritic, rollout: Rollout, episodes: Episodes) -> None:
    """Play all environments for a rollout."""
    for t in range(rollout.steps):
        observations = envs.observe()
        actions, log_probs, values = policy.act(observations)
        rewards, over = envs.step(actions)
        rollout.write(t, observations, actions, log_probs, values, rewards, over)
        _, totals = envs.ended
        episodes.add(over, totals)
        step(rollout.num_envs)
    rollout.last_values = policy.value(envs.observe())


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


def update(learner: Learner, batch: Batch) -> torch.Tensor:
    """Train on a rollout; returns the mean losses, still on the device."""
    losses: list[torch.Tensor] = []
    for _ in range(EPOCHS):
        order = torch.randperm(len(batch.actions), device=batch.actions.device)
        for indices in order.chunk(MINIBATCHES):
            loss = learner.learn(batch.rows(indices))
            losses.append(torch.stack(loss))
    return torch.stack(losses).mean(dim=0)
