"""A population of four learners, each a process that lets torch use all cores.

``--fixed`` gives each of them one thread.
"""

from __future__ import annotations

import multiprocessing as mp

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

POPULATION = 4
NUM_ENVS = 256
HORIZON = 8
OBSERVATION = 32
SUBSTEPS = 300


class ReachingTask:
    """Bodies in the plane that are to reach their goals, all at once in numpy."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.features = self.rng.normal(size=(6, OBSERVATION)).astype(np.float32)
        self.positions = self.rng.normal(size=(NUM_ENVS, 2)).astype(np.float32)
        self.speeds = np.zeros((NUM_ENVS, 2), dtype=np.float32)
        self.goals = self.rng.normal(size=(NUM_ENVS, 2)).astype(np.float32)

    def observe(self):
        state = np.concatenate([self.positions, self.speeds, self.goals], axis=1)
        return torch.from_numpy(np.tanh(state @ self.features))

    def step(self, actions):
        forces = np.clip(actions, -1.0, 1.0)
        for _ in range(SUBSTEPS):
            drag = 0.1 * self.speeds * np.abs(self.speeds)
            self.speeds += 0.001 * (forces - drag - 0.2 * np.sin(self.positions))
            self.positions += 0.001 * self.speeds
        distances = np.linalg.norm(self.positions - self.goals, axis=1)
        reached = distances < 0.1
        self.goals[reached] = self.rng.normal(size=(int(reached.sum()), 2))
        return torch.from_numpy(-distances)


def train(seed, options, rates):
    if options.fixed:
        torch.set_num_threads(1)
    torch.manual_seed(seed)
    task = ReachingTask(seed)
    policy = nn.Sequential(
        nn.Linear(OBSERVATION, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 2)
    )
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        losses = []
        for _ in range(HORIZON):
            actions = torch.distributions.Normal(policy(task.observe()), 0.2)
            taken = actions.sample()
            rewards = task.step(taken.numpy())
            advantages = rewards - rewards.mean()
            losses.append(-(actions.log_prob(taken).sum(1) * advantages).mean())
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        optimizer.step()
        rlprof.step(NUM_ENVS * HORIZON)
        watch.count(NUM_ENVS * HORIZON)
    rates.put(watch.sps)


def main():
    options = arguments()
    context = mp.get_context("spawn")
    rates = context.SimpleQueue()
    learners = [
        context.Process(target=train, args=(seed, options, rates), daemon=True)
        for seed in range(POPULATION)
    ]
    for process in learners:
        process.start()
    total = sum(rates.get() for _ in learners)
    for process in learners:
        process.join()
    tell(total)


if __name__ == "__main__":
    main()
