"""Proximal policy optimization (Schulman et al. 2017): the network, its policy, and the loss."""

from __future__ import annotations

from typing import NamedTuple

import torch
from gridworld import ACTIONS, OBSERVATION_SIZE
from torch import nn
from torch.distributions import Categorical

HIDDEN = 32
LEARNING_RATE = 2.5e-3
CLIP = 0.2
"""How far the probability of an action may move in one update."""
VALUE_WEIGHT = 0.5
ENTROPY_WEIGHT = 0.01
MAX_GRADIENT = 0.5


class Batch(NamedTuple):
    """What was seen and done, a row for each step."""

    observations: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    """Of the actions, by the policy that took them."""
    advantages: torch.Tensor
    returns: torch.Tensor

    def rows(self, indices: torch.Tensor) -> Batch:
        return Batch(*(field[indices] for field in self))


class Loss(NamedTuple):
    """Of one minibatch, each a tensor with one number."""

    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor
    moved: torch.Tensor
    """About the KL divergence from the policy that acted."""

    @property
    def total(self) -> torch.Tensor:
        return self.policy + VALUE_WEIGHT * self.value - ENTROPY_WEIGHT * self.entropy


def layers(outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(OBSERVATION_SIZE, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Linear(HIDDEN, outputs),
    )


class ActorCritic(nn.Module):
    """A score for each action, and the value of what is seen, by a network each."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = layers(ACTIONS)
        self.critic = layers(1)

    def forward(self, observations: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        policy = Categorical(logits=self.actor(observations), validate_args=False)
        return policy, self.critic(observations).squeeze(-1)

    @torch.no_grad()
    def act(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, their log-probabilities, and the values of what is seen."""
        policy, values = self(observations)
        actions = policy.sample()
        return actions, policy.log_prob(actions), values

    @torch.no_grad()
    def value(self, observations: torch.Tensor) -> torch.Tensor:
        return self(observations)[1]

    def loss(self, batch: Batch) -> Loss:
        policy, values = self(batch.observations)
        log_ratio = policy.log_prob(batch.actions) - batch.log_probs
        ratio = log_ratio.exp()
        advantages = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
        gain = torch.min(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
        return Loss(
            policy=-gain.mean(),
            value=(values - batch.returns).square().mean(),
            entropy=policy.entropy().mean(),
            moved=(ratio - 1 - log_ratio).mean(),
        )


class Learner:
    """Owns the network and trains it."""

    def __init__(self, seed: int, device: torch.device) -> None:
        torch.manual_seed(seed)
        self.network = ActorCritic().to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, fused=True)

    def learn(self, minibatch: Batch) -> Loss:
        """One gradient step."""
        loss = self.network.loss(minibatch)
        self.optimizer.zero_grad()
        loss.total.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRADIENT)
        self.optimizer.step()
        return Loss(*(part.detach() for part in loss))
