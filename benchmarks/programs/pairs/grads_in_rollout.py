"""Q-learning on a swarm of points: the network records gradients whenever it is asked for an action.

``--fixed`` asks it under ``torch.no_grad()``. Nothing else changes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

OBSERVATION = 8
WIDTH = 64
ROLLOUT = 256
BATCH = 128
GAMMA = 0.95


class Swarm:
    """Points that drift and are pushed up or down; all are seen."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.rng.normal(size=OBSERVATION).astype(np.float32)
        self.drift = self.rng.normal(size=(ROLLOUT, OBSERVATION)).astype(np.float32)

    def step(self, t, action):
        self.state = 0.98 * self.state + 0.1 * self.drift[t]
        self.state += 0.1 * action - 0.05
        return self.state, -abs(float(self.state[0]))


def choose(network, observation):
    values = network(torch.from_numpy(observation))
    return values.argmax().item()


@torch.no_grad()
def choose_without_gradients(network, observation):
    values = network(torch.from_numpy(observation))
    return values.argmax().item()


def main():
    options = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    act = choose_without_gradients if options.fixed else choose
    env = Swarm(0)
    first = [nn.Linear(OBSERVATION, WIDTH), nn.Tanh()]
    hidden = [nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh()]
    network = nn.Sequential(*first, *hidden, nn.Linear(WIDTH, 2))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    seen = np.zeros((ROLLOUT + 1, OBSERVATION), dtype=np.float32)
    actions, rewards = np.zeros(ROLLOUT, dtype=np.int64), np.zeros(ROLLOUT, dtype=np.float32)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        seen[0] = env.state
        for t in range(ROLLOUT):
            actions[t] = act(network, seen[t])
            seen[t + 1], rewards[t] = env.step(t, actions[t])
            rlprof.step()
        index = env.rng.integers(ROLLOUT, size=BATCH)
        with torch.no_grad():
            following = network(torch.from_numpy(seen[index + 1])).max(dim=1).values
        wanted = torch.from_numpy(rewards[index]) + GAMMA * following
        values = network(torch.from_numpy(seen[index]))
        chosen = values.gather(1, torch.from_numpy(actions[index])[:, None]).squeeze(1)
        optimizer.zero_grad()
        (chosen - wanted).pow(2).mean().backward()
        optimizer.step()
        watch.count(ROLLOUT)
    tell(watch.sps)


if __name__ == "__main__":
    main()
