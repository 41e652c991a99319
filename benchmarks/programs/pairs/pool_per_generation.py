"""Evolution strategies that make a new pool of spawned workers for each generation.

``--fixed`` keeps one pool for the whole training.
"""

from __future__ import annotations

import multiprocessing as mp
from contextlib import nullcontext
from operator import mul

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_WORKERS = 2
POPULATION = 8
HORIZON = 2500


def evaluate(weights):
    """The return of a linear policy over a fixed number of steps."""
    weights = weights.tolist()
    env = gymnasium.make("Pendulum-v1")
    observation, _ = env.reset(seed=0)
    total = 0.0
    for _ in range(HORIZON):
        torque = sum(map(mul, weights, observation.tolist()))
        observation, reward, _, truncated, _ = env.step((torque,))
        total += float(reward)
        if truncated:
            observation, _ = env.reset()
    return total / HORIZON


def ask(rng, mean):
    return mean + 0.3 * rng.normal(size=(POPULATION, 3))


def better_half(candidates, returns):
    best = np.argsort(returns)[-POPULATION // 2 :]
    return candidates[best].mean(axis=0)


def main():
    options = arguments(seconds=10.0)
    context = mp.get_context("spawn")
    rng = np.random.default_rng(0)
    mean = np.zeros(3)
    watch = Stopwatch(options.seconds)
    with context.Pool(NUM_WORKERS) if options.fixed else nullcontext() as kept:
        while watch.is_running():
            candidates = ask(rng, mean)
            if options.fixed:
                returns = kept.map(evaluate, candidates, chunksize=1)
            else:
                with context.Pool(NUM_WORKERS) as pool:
                    returns = pool.map(evaluate, candidates, chunksize=1)
            mean = better_half(candidates, returns)
            watch.count(POPULATION * HORIZON)
    tell(watch.sps)


if __name__ == "__main__":
    main()
