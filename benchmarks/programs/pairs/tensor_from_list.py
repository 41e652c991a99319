"""REINFORCE on a swarm of points: each rollout's arrays are collected in lists, and tensors made of those.

``--fixed`` makes one array of each list first. Nothing else changes.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

ROLLOUT = 64
OBSERVATION = 48


class Swarm:
    """Points that drift and are pushed; all are seen."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.normal(size=OBSERVATION).astype(np.float32)

    def step(self, push):
        self.state = 0.98 * self.state + 0.1 * push
        return self.state, -float(np.abs(self.state).mean())


def batch_of(observations, rewards, *, fixed):
    if fixed:
        return torch.as_tensor(np.array(observations)), torch.as_tensor(np.array(rewards))
    seen, got = [*observations], [*rewards]
    return torch.tensor(seen), torch.tensor(got)


def main():
    options = arguments()
    # torch itself says that this is slow.
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env = Swarm(0)
    policy = nn.Linear(OBSERVATION, 1)
    optimizer = torch.optim.SGD(policy.parameters(), lr=1e-4)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observations, rewards = [], []
        push = 0.0
        for _ in range(ROLLOUT):
            observation, reward = env.step(push)
            observations.append(observation)
            rewards.append(reward)
            push = -float(observation[0])
        batch, returns = batch_of(observations, rewards, fixed=options.fixed)
        loss = -(policy(batch).squeeze(1) * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rlprof.step(ROLLOUT)
        watch.count(ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
