"""Four workers for a learner that can hardly keep up with one: they wait until it takes a rollout.

It looks bad and costs nothing. ``--fixed`` has one worker and is as fast.
"""

from __future__ import annotations

import multiprocessing as mp

import numpy as np
import torch
from torch import nn

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

ROLLOUT = 200
EPOCHS = 6
OBSERVATION = 16
QUEUED_ROLLOUTS = 2


class Swimmer:
    """A chain of segments in a viscous fluid, integrated in small steps."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.angles = self.rng.normal(size=OBSERVATION // 2)
        self.speeds = np.zeros(OBSERVATION // 2)
        self.stiffness = np.eye(OBSERVATION // 2, k=1) + np.eye(OBSERVATION // 2, k=-1)
        self.stiffness -= 2 * np.eye(OBSERVATION // 2)

    def observe(self):
        return np.concatenate([np.sin(self.angles), self.speeds])

    def step(self, torque):
        self.speeds += 0.05 * (self.stiffness @ self.angles + torque - 0.3 * self.speeds)
        self.angles += 0.05 * self.speeds
        return self.observe(), float(self.speeds.mean())


def env_worker(seed, rollouts, room, stop):
    env = Swimmer(seed)
    observation = env.observe()
    while True:
        observations = np.empty((ROLLOUT, OBSERVATION), dtype=np.float32)
        rewards = np.empty(ROLLOUT, dtype=np.float32)
        for t in range(ROLLOUT):
            observations[t] = observation
            observation, rewards[t] = env.step(np.tanh(observation[0]))
        room.acquire()
        if stop.is_set():
            return
        rollouts.put((observations, rewards))
        rlprof.step(ROLLOUT)


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
    rollouts, stop = context.SimpleQueue(), context.Event()
    room = context.Semaphore(QUEUED_ROLLOUTS)
    workers = [
        context.Process(target=env_worker, args=(seed, rollouts, room, stop), daemon=True)
        for seed in range(1 if options.fixed else 4)
    ]
    for worker in workers:
        worker.start()
    model = nn.Sequential(nn.Linear(OBSERVATION, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
    model.append(nn.Linear(512, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        update(model, optimizer, rollouts.get())
        room.release()
        watch.count(ROLLOUT)
    stop.set()
    for _ in workers:
        room.release()
    for worker in workers:
        worker.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
