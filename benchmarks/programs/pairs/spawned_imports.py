"""Four spawned environment workers import torch, which only the learner needs.

What counts is the time of the whole program, for a fixed number of updates. ``--fixed`` forks the
workers, so that they import nothing again.
"""

from __future__ import annotations

import multiprocessing as mp
import time

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import arguments, tell

NUM_WORKERS = 4
ROLLOUT = 128
UPDATES = 100


class MountainCar:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.position, self.velocity = -0.5, 0.0

    def step(self, action):
        push = 0.001 * (action - 1) - 0.0025 * np.cos(3 * self.position)
        self.velocity = float(np.clip(self.velocity + push, -0.07, 0.07))
        self.position = float(np.clip(self.position + self.velocity, -1.2, 0.6))
        if self.position >= 0.5:
            self.position, self.velocity = float(self.rng.uniform(-0.6, -0.4)), 0.0
            return (self.position, self.velocity), 0.0
        return (self.position, self.velocity), -1.0


def env_worker(seed, connection):
    env = MountainCar(seed)
    rng = np.random.default_rng(seed)
    while connection.recv():
        observations = np.empty((ROLLOUT, 2), dtype=np.float32)
        rewards = np.empty(ROLLOUT, dtype=np.float32)
        for t in range(ROLLOUT):
            observations[t], rewards[t] = env.step(int(rng.integers(3)))
        connection.send((observations, rewards))


def main():
    options = arguments()
    started = time.perf_counter()
    torch.set_num_threads(1)
    context = mp.get_context("fork" if options.fixed else "spawn")
    connections = []
    for seed in range(NUM_WORKERS):
        ours, theirs = context.Pipe()
        context.Process(target=env_worker, args=(seed, theirs), daemon=True).start()
        theirs.close()
        connections.append(ours)
    value = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=1e-3)
    for _ in range(UPDATES):
        for connection in connections:
            connection.send(True)
        rollouts = zip(*[connection.recv() for connection in connections], strict=True)
        observations, rewards = (torch.from_numpy(np.concatenate(part)) for part in rollouts)
        loss = (value(observations).squeeze(1) - rewards).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rlprof.step(NUM_WORKERS * ROLLOUT)
    for connection in connections:
        connection.send(False)
    tell(UPDATES * NUM_WORKERS * ROLLOUT / (time.perf_counter() - started))


if __name__ == "__main__":
    main()
