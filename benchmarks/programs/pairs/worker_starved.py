"""Collect, learn, collect, learn: the environment workers wait while the learner updates.

``--fixed`` asks for the next rollouts before it learns from these.
"""

from __future__ import annotations

import multiprocessing as mp

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

ROLLOUT = 200
EPOCHS = 3
OBSERVATION = 16


class Swimmer:
    """A chain of segments in a viscous fluid, integrated in small steps."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.angles = self.rng.normal(size=OBSERVATION // 2)
        self.speeds = np.zeros(OBSERVATION // 2)

    def observe(self):
        return np.concatenate([np.sin(self.angles), self.speeds])

    def step(self, torque):
        for _ in range(6):
            pull = np.roll(self.angles, 1) + np.roll(self.angles, -1) - 2 * self.angles
            self.speeds += 0.01 * (pull + torque - 0.3 * self.speeds)
            self.angles += 0.01 * self.speeds
        return self.observe(), float(self.speeds.mean())


def env_worker(seed, connection):
    env = Swimmer(seed)
    while (weights := connection.recv()) is not None:
        observations = np.empty((ROLLOUT, OBSERVATION), dtype=np.float32)
        rewards = np.empty(ROLLOUT, dtype=np.float32)
        observation = env.observe()
        for t in range(ROLLOUT):
            observations[t] = observation
            observation, rewards[t] = env.step(np.tanh(weights @ observation))
            rlprof.step()
        connection.send((observations, rewards))


def update(model, optimizer, rollout):
    observations, rewards = (torch.from_numpy(part) for part in rollout)
    for _ in range(EPOCHS):
        loss = (model(observations).squeeze(1) - rewards).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    options = arguments()
    torch.set_num_threads(1)
    context = mp.get_context("fork")
    connection, theirs = context.Pipe()
    worker = context.Process(target=env_worker, args=(0, theirs), daemon=True)
    worker.start()
    model = nn.Sequential(nn.Linear(OBSERVATION, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
    model.append(nn.Linear(512, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    weights = np.zeros(OBSERVATION)
    connection.send(weights)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        rollout = connection.recv()
        if options.fixed:
            connection.send(weights)
            update(model, optimizer, rollout)
        else:
            update(model, optimizer, rollout)
            connection.send(weights)
        watch.count(ROLLOUT)
    connection.recv()
    connection.send(None)
    worker.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
