"""Prioritised replay on a swarm of points: each priority is weighed and clipped on its own.

``--fixed`` does it for all of them at once. Nothing else changes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

CAPACITY = 4096
OBSERVATION = 48
STEPS = 64
BATCH = 64
LIMIT = 1.0


class Swarm:
    """Points that drift and are pushed; all are seen."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.normal(size=OBSERVATION).astype(np.float32)

    def step(self, push):
        self.state = 0.98 * self.state + 0.1 * push
        return self.state, -float(np.abs(self.state).mean())


def priorities_one_by_one(errors: torch.Tensor):
    priorities = torch.zeros(BATCH)
    for i in range(len(errors)):
        error = errors[i].abs()
        if error > LIMIT:
            error = LIMIT + (error - LIMIT).sqrt()
        priorities[i] = error**0.6 + 1e-3
    return priorities


def priorities_at_once(errors: torch.Tensor):
    error = errors.abs()
    error = torch.where(error > LIMIT, LIMIT + (error - LIMIT).clamp(min=0.0).sqrt(), error)
    return error**0.6 + 1e-3


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    weigh = priorities_at_once if options.fixed else priorities_one_by_one
    env = Swarm(0)
    critic = nn.Linear(OBSERVATION, 1)
    optimizer = torch.optim.SGD(critic.parameters(), lr=1e-3)
    observations = torch.zeros((CAPACITY, OBSERVATION))
    rewards, priorities = torch.zeros(CAPACITY), torch.full((CAPACITY,), 1e-3)
    written = 0
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        for _ in range(STEPS):
            observation, reward = env.step(env.rng.normal() - env.state[0])
            observations[written % CAPACITY] = torch.from_numpy(observation)
            rewards[written % CAPACITY] = reward
            written += 1
            rlprof.step()
        index = torch.multinomial(priorities, BATCH)
        errors = rewards[index] - critic(observations[index]).squeeze(1)
        priorities[index] = weigh(errors.detach())
        optimizer.zero_grad()
        errors.pow(2).mean().backward()
        optimizer.step()
        watch.count(STEPS)
    tell(watch.sps)


if __name__ == "__main__":
    main()
