"""Rollouts of pure Python environments in a pool of threads, of which one runs at a time.

``--fixed`` uses a pool of processes.
"""

from __future__ import annotations

import multiprocessing as mp
import random
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_WORKERS = 2
HORIZON = 4000


class Blackjack:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.reset()

    def draw(self):
        return min(10, self.random.randrange(1, 14))

    def reset(self):
        self.hand = [self.draw(), self.draw()]
        self.dealer = [self.draw(), self.draw()]
        return self.observe()

    def total(self, hand):
        points = sum(hand)
        return points + 10 if 1 in hand and points <= 11 else points

    def observe(self):
        return self.total(self.hand), self.dealer[0], 1 in self.hand

    def step(self, hit):
        if hit:
            self.hand.append(self.draw())
            busted = self.total(self.hand) > 21
            return self.observe(), -1.0 if busted else 0.0, busted
        while self.total(self.dealer) < 17:
            self.dealer.append(self.draw())
        ours, theirs = self.total(self.hand), self.total(self.dealer)
        reward = 1.0 if theirs > 21 or ours > theirs else -1.0 if ours < theirs else 0.0
        return self.observe(), reward, True


def rollout(seed, threshold):
    env = Blackjack(seed)
    observation, total = env.reset(), 0.0
    for _ in range(HORIZON):
        observation, reward, done = env.step(observation[0] < threshold)
        total += reward
        if done:
            observation = env.reset()
    rlprof.step(HORIZON)
    return total


def pool(fixed):
    if fixed:
        return ProcessPoolExecutor(NUM_WORKERS, mp_context=mp.get_context("fork"))
    return ThreadPoolExecutor(NUM_WORKERS)


def main():
    options = arguments()
    rng = random.Random(0)
    returns = dict.fromkeys(range(12, 20), 0.0)
    watch = Stopwatch(options.seconds)
    with pool(options.fixed) as executor:
        while watch.is_running():
            seeds = [rng.randrange(1 << 30) for _ in returns]
            for threshold, total in zip(
                returns, executor.map(rollout, seeds, returns), strict=True
            ):
                returns[threshold] += 0.1 * (total / HORIZON - returns[threshold])
            watch.count(HORIZON * len(returns))
    tell(watch.sps)


if __name__ == "__main__":
    main()
