"""Deep Q-learning (Mnih et al. 2015): the network, the policy that acts by it, the learner."""

from __future__ import annotations

import copy

import numpy as np
import torch
from cartpole import ACTIONS, OBSERVATION_SIZE, TRANSITION_SIZE
from torch import nn

HIDDEN = 64
DISCOUNT = 0.99
LEARNING_RATE = 1e-3
BATCH = 128
"""Transitions in an update."""
TARGET_EVERY = 100
"""Updates between two copies to the target network."""
EPSILON = 0.1
"""How often an action is random."""


class QNetwork(nn.Sequential):
    """The value of each action."""

    def __init__(self) -> None:
        super().__init__(
            nn.Linear(OBSERVATION_SIZE, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, ACTIONS),
        )


class Policy:
    """Acts epsilon-greedily."""

    def __init__(self, network: QNetwork, seed: int) -> None:
        self.network = network
        self.rng = np.random.default_rng(seed)

    @torch.no_grad()
    def act(self, observation: np.ndarray) -> int:
        """The action for one environment."""
        if self.rng.random() < EPSILON:
            return int(self.rng.integers(ACTIONS))
        return int(self.network(torch.from_numpy(observation)).argmax())

    @torch.no_grad()
    def act_all(self, observations: np.ndarray) -> np.ndarray:
        """The actions for many environments, by one pass through the network."""
        best = self.network(torch.from_numpy(observations)).argmax(dim=1).numpy()
        is_random = self.rng.random(len(best)) < EPSILON
        return np.where(is_random, self.rng.integers(ACTIONS, size=len(best)), best)


class Learner:
    """Owns the network that is trained, on a GPU where there is one."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.device = best_device()
        self.network = QNetwork().to(self.device)
        self.target = copy.deepcopy(self.network)
        self.updates = 0
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE, fused=True)
        # The first update loads parts of torch, which takes seconds.
        self.update(np.zeros((BATCH, TRANSITION_SIZE), np.float32))
        self.updates = 0

    def update(self, transitions: np.ndarray) -> None:
        """One gradient step on a batch: rows as ``cartpole.Transition``."""
        batch = torch.from_numpy(transitions).to(self.device)
        seen, action, reward, then, fell = batch.split(
            (OBSERVATION_SIZE, 1, 1, OBSERVATION_SIZE, 1), dim=1
        )
        with torch.no_grad():
            best = self.target(then).max(dim=1, keepdim=True).values
            wanted = reward + DISCOUNT * (1 - fell) * best
        value = self.network(seen).gather(1, action.long())
        loss = nn.functional.smooth_l1_loss(value, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % TARGET_EVERY == 0:
            self.target.load_state_dict(self.network.state_dict())


def best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
