"""Sixteen environments, each in a worker process of its own, on a machine with few cores.

``--fixed`` shares the same environments out to two workers.
"""

from __future__ import annotations

import math
import multiprocessing as mp

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 16
SUBSTEPS = 150


class DoublePendulum:
    def __init__(self, seed):
        self.state = np.random.default_rng(seed).normal(size=4).tolist()

    def step(self, torque):
        first, second, first_speed, second_speed = self.state
        for _ in range(SUBSTEPS):
            difference = first - second
            coupling = math.cos(difference)
            inertia = 2.0 - coupling * coupling
            swing = math.sin(difference) * second_speed * second_speed
            pull = -9.8 * math.sin(first) - 0.5 * swing + torque
            first_speed += 0.005 * (pull - coupling * -9.8 * math.sin(second)) / inertia
            second_speed += 0.005 * (-9.8 * math.sin(second) - coupling * pull) / inertia
            first_speed = max(-20.0, min(20.0, first_speed))
            second_speed = max(-20.0, min(20.0, second_speed))
            first += 0.005 * first_speed
            second += 0.005 * second_speed
        self.state = [first, second, first_speed, second_speed]
        return self.state, -math.cos(first) - math.cos(second)


def env_worker(seeds, connection):
    envs = [DoublePendulum(seed) for seed in seeds]
    while (torques := connection.recv()) is not None:
        results = [env.step(torque) for env, torque in zip(envs, torques, strict=True)]
        connection.send(results)


class VectorEnv:
    def __init__(self, num_envs, num_workers):
        context = mp.get_context("fork")
        self.shares = np.array_split(np.arange(num_envs), num_workers)
        self.connections, self.workers = [], []
        for seeds in self.shares:
            ours, theirs = context.Pipe()
            worker = context.Process(target=env_worker, args=(seeds.tolist(), theirs), daemon=True)
            worker.start()
            theirs.close()
            self.connections.append(ours)
            self.workers.append(worker)

    def step(self, torques):
        torques = torques.tolist()
        for connection, share in zip(self.connections, self.shares, strict=True):
            connection.send(torques[share[0] : share[-1] + 1])
        results = [result for connection in self.connections for result in connection.recv()]
        states, rewards = zip(*results, strict=True)
        return np.array(states), np.array(rewards)

    def close(self):
        for connection in self.connections:
            connection.send(None)
        for worker in self.workers:
            worker.join()


def main():
    options = arguments()
    envs = VectorEnv(NUM_ENVS, num_workers=2 if options.fixed else NUM_ENVS)
    rng = np.random.default_rng(0)
    gains = np.zeros(4)
    noise = rng.normal(size=4)
    best = -np.inf
    states = np.zeros((NUM_ENVS, 4))
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        total = 0.0
        for _ in range(20):
            states, rewards = envs.step(np.clip(states @ (gains + noise), -2, 2))
            total += rewards.mean()
            rlprof.step(NUM_ENVS)
            watch.count(NUM_ENVS)
        if total > best:
            best, gains = total, gains + noise
        noise = 0.1 * rng.normal(size=4)
    envs.close()
    tell(watch.sps)


if __name__ == "__main__":
    main()
