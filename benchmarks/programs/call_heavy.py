"""Tabular Q-learning on a grid world, all in small Python calls; alone or in busy workers.

The hardest case for a sampler: the stack never stands still.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time

from pacing import make_steps, report

import rlprof

MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
SIDE = 8


class GridWorld:
    def __init__(self):
        self.reset()

    def reset(self):
        self.position = (0, 0)
        return self.position

    def move(self, action):
        rows, columns = MOVES[action]
        return self.clip(self.position[0] + rows), self.clip(self.position[1] + columns)

    def clip(self, value):
        return min(max(value, 0), SIDE - 1)

    def reward(self):
        return 1.0 if self.is_over() else -0.01

    def is_over(self):
        return self.position == (SIDE - 1, SIDE - 1)

    def step(self, action):
        self.position = self.move(action)
        return self.position, self.reward(), self.is_over()


class Learner:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = {}
        self.world = GridWorld()
        self.state = self.world.reset()

    def value(self, state, action):
        return self.values.get((state, action), 0.0)

    def best(self, state):
        return max(range(len(MOVES)), key=lambda action: self.value(state, action))

    def act(self):
        if self.random.random() < 0.1:
            return self.random.randrange(len(MOVES))
        return self.best(self.state)

    def learn(self, action, reward, state):
        target = reward + 0.9 * self.value(state, self.best(state))
        old = self.value(self.state, action)
        self.values[self.state, action] = old + 0.1 * (target - old)

    def step(self):
        action = self.act()
        state, reward, over = self.world.step(action)
        self.learn(action, reward, state)
        self.state = self.world.reset() if over else state
        rlprof.step()


def work(seconds, seed, results):
    results.put(make_steps(seconds, Learner(seed).step)["steps"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=0, help="0: in the main process")
    arguments = parser.parse_args()
    if not arguments.workers:
        report(**make_steps(arguments.seconds, Learner(0).step))
        return
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    started = time.perf_counter()
    workers = [
        context.Process(target=work, args=(arguments.seconds, seed, results))
        for seed in range(arguments.workers)
    ]
    for worker in workers:
        worker.start()
    steps = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    report(steps=steps, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
