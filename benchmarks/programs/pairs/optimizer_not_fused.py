"""Q-learning on a swarm of points: Adam goes through the parameters of a network of six layers one by one.

``--fixed`` makes it with ``fused=True``. Nothing else changes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

OBSERVATION = 8
WIDTH = 32
LAYERS = 5
STEPS = 16
CAPACITY = 4096
BATCH = 32
GAMMA = 0.95


class Swarm:
    """Points that drift and are pushed; all are seen."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.normal(size=OBSERVATION).astype(np.float32)

    def step(self, push):
        self.state = 0.98 * self.state + 0.1 * (push - self.state[0])
        return self.state, -float(np.abs(self.state).mean())


def network():
    layers = [nn.Linear(OBSERVATION, WIDTH), nn.Tanh()]
    for _ in range(LAYERS - 1):
        layers += [nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    env = Swarm(0)
    critic = network()
    if options.fixed:
        optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4, fused=True)
    else:
        optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)
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
            wanted = rewards[index] + GAMMA * critic(seen[index + 1]).squeeze(1)
        loss = (critic(seen[index]).squeeze(1) - wanted).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch.count(STEPS)
    tell(watch.sps)


if __name__ == "__main__":
    main()
