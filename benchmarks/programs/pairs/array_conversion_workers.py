"""Two UCB actors that keep their estimates in dicts and make arrays of them for each choice.

``--fixed`` keeps them in arrays.
"""

from __future__ import annotations

import multiprocessing as mp

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
NUM_ARMS = 64


class DictEstimates:
    def __init__(self):
        self.values = dict.fromkeys(range(NUM_ARMS), 0.0)
        self.pulls = dict.fromkeys(range(NUM_ARMS), 1)

    def arrays(self):
        return np.array(list(self.values.values())), np.array(list(self.pulls.values()))

    def learn(self, arm, reward):
        self.pulls[arm] += 1
        self.values[arm] += (reward - self.values[arm]) / self.pulls[arm]


class ArrayEstimates:
    def __init__(self):
        self.values = np.zeros(NUM_ARMS)
        self.pulls = np.ones(NUM_ARMS, dtype=np.int64)

    def arrays(self):
        return self.values, self.pulls

    def learn(self, arm, reward):
        self.pulls[arm] += 1
        self.values[arm] += (reward - self.values[arm]) / self.pulls[arm]


def actor(rank, options, rates):
    rng = np.random.default_rng(rank)
    means = rng.normal(size=NUM_ARMS)
    estimates = ArrayEstimates() if options.fixed else DictEstimates()
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        values, pulls = estimates.arrays()
        bounds = values + np.sqrt(2 * np.log(watch.steps + 1) / pulls)
        arm = int(bounds.argmax())
        estimates.learn(arm, means[arm] + rng.normal())
        rlprof.step()
        watch.count()
    rates.put(watch.sps)


def main():
    options = arguments()
    context = mp.get_context("fork")
    rates = context.SimpleQueue()
    actors = [
        context.Process(target=actor, args=(rank, options, rates), daemon=True)
        for rank in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    total = sum(rates.get() for _ in actors)
    for process in actors:
        process.join()
    tell(total)


if __name__ == "__main__":
    main()
