"""Actor-critic on a swarm of points: the advantages are reckoned in torch, one row after the other.

``--fixed`` runs the same loop over arrays of numpy. Nothing else changes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

POINTS = 16
OBSERVATION = 8
ROLLOUT = 128
GAMMA = 0.99
LAMBDA = 0.95


class Swarm:
    """Points that drift and are pushed; an episode ends for one when it has strayed too far."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.normal(size=(POINTS, OBSERVATION)).astype(np.float32)

    def step(self, push):
        self.state = 0.98 * self.state + 0.1 * push
        distance = np.abs(self.state).mean(axis=1)
        return self.state, -distance, distance > 1.0


def advantages_in_torch(rewards, values, dones, next_value):
    rewards, values, dones = map(torch.from_numpy, (rewards, values, dones))
    next_value = torch.from_numpy(next_value)
    with torch.no_grad():
        advantages = torch.zeros_like(rewards)
        last = torch.zeros(POINTS)
        for t in reversed(range(ROLLOUT)):
            following = next_value if t == ROLLOUT - 1 else values[t + 1]
            going_on = 1.0 - dones[t]
            delta = rewards[t] + GAMMA * following * going_on - values[t]
            last = delta + GAMMA * LAMBDA * going_on * last
            advantages[t] = last
    return advantages


def advantages_in_numpy(rewards, values, dones, next_value):
    advantages = np.zeros_like(rewards)
    last = np.zeros(POINTS, dtype=np.float32)
    for t in reversed(range(ROLLOUT)):
        following = next_value if t == ROLLOUT - 1 else values[t + 1]
        going_on = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * following * going_on - values[t]
        last = delta + GAMMA * LAMBDA * going_on * last
        advantages[t] = last
    return torch.from_numpy(advantages)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    reckon = advantages_in_numpy if options.fixed else advantages_in_torch
    env = Swarm(0)
    policy, critic = nn.Linear(OBSERVATION, OBSERVATION), nn.Linear(OBSERVATION, 1)
    # At 1e-5 the policy diverges, and numpy is slow with what is no number.
    optimizer = torch.optim.SGD([*policy.parameters(), *critic.parameters()], lr=1e-8)
    observations = np.zeros((ROLLOUT + 1, POINTS, OBSERVATION), dtype=np.float32)
    pushes = np.zeros((ROLLOUT, POINTS, OBSERVATION), dtype=np.float32)
    rewards, dones = (np.zeros((ROLLOUT, POINTS), dtype=np.float32) for _ in range(2))
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observations[0] = env.state
        weight, bias = policy.weight.detach().numpy().T, policy.bias.detach().numpy()
        noise = env.rng.normal(size=pushes.shape).astype(np.float32)
        for step in range(ROLLOUT):
            pushes[step] = observations[step] @ weight + bias + noise[step]
            observations[step + 1], rewards[step], dones[step] = env.step(pushes[step])
            rlprof.step(POINTS)
        seen, pushed = torch.from_numpy(observations), torch.from_numpy(pushes)
        predicted = critic(seen).squeeze(-1)
        values = predicted.detach().numpy()
        advantages = reckon(rewards, values[:-1], dones, values[-1])
        log_prob = -(pushed - policy(seen[:-1])).pow(2).sum(-1) / 2
        weights = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        loss = -(log_prob * weights).mean() + (predicted[:-1] - advantages).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.count(POINTS * ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
