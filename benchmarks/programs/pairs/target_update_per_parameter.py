"""Q-learning on a swarm of points: the target network follows by a loop over its parameters.

``--fixed`` moves all of them by one call. Nothing else changes.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

OBSERVATION = 8
WIDTH = 32
STEPS = 4
CAPACITY = 4096
BATCH = 32
GAMMA = 0.95
TAU = 0.005


class Swarm:
    """Points that drift and are pushed; all are seen."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.normal(size=OBSERVATION).astype(np.float32)

    def step(self, push):
        self.state = 0.98 * self.state + 0.1 * (push - self.state[0])
        return self.state, -float(np.abs(self.state).mean())


def follow(target, critic):
    for slow, fast in zip(target.parameters(), critic.parameters(), strict=True):
        slow.data.copy_(TAU * fast.data + (1.0 - TAU) * slow.data)


def follow_at_once(slow, fast):
    with torch.no_grad():
        torch._foreach_lerp_(slow, fast, TAU)


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env = Swarm(0)
    hidden = [nn.Linear(OBSERVATION, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    critic = nn.Sequential(*hidden, nn.Linear(WIDTH, 1))
    target = copy.deepcopy(critic)
    slow, fast = list(target.parameters()), list(critic.parameters())
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, fused=True)
    seen = torch.zeros((CAPACITY, OBSERVATION))
    rewards = torch.zeros(CAPACITY)
    written = 0
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        for push in env.rng.normal(size=STEPS):
            observation, reward = env.step(push)
            seen[written % CAPACITY] = torch.from_numpy(observation)
            rewards[written % CAPACITY] = reward
            written += 1
            rlprof.step()
        index = torch.randint(min(written, CAPACITY) - 1, (BATCH,))
        with torch.no_grad():
            wanted = rewards[index] + GAMMA * target(seen[index + 1]).squeeze(1)
        loss = (critic(seen[index]).squeeze(1) - wanted).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if options.fixed:
            follow_at_once(slow, fast)
        else:
            follow(target, critic)
        watch.count(STEPS)
    tell(watch.sps)


if __name__ == "__main__":
    main()
