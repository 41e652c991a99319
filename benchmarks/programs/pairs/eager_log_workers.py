"""Two actors describe each transition in a debug message that is switched off.

``--fixed`` hands the pieces to the logger, which drops them.
"""

from __future__ import annotations

import logging
import multiprocessing as mp

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

logger = logging.getLogger("actor")

NUM_ACTORS = 2


def log_eagerly(rank, action, observation, reward):
    logger.debug(f"actor {rank}: action {action} led to {observation} with reward {reward}")


def log_lazily(rank, action, observation, reward):
    logger.debug("actor %d: action %s led to %s with reward %s", rank, action, observation, reward)


def actor(rank, options, rates):
    logging.basicConfig(level=logging.INFO)
    log_transition = log_lazily if options.fixed else log_eagerly
    env = gymnasium.make("Acrobot-v1")
    rng = np.random.default_rng(rank)
    env.reset(seed=rank)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        action = int(rng.integers(3))
        observation, reward, terminated, truncated, _ = env.step(action)
        log_transition(rank, action, observation, reward)
        if terminated or truncated:
            env.reset()
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
