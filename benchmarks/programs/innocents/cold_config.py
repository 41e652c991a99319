"""omegaconf, f-strings in debug messages and conversions of arrays, all once per episode."""

from __future__ import annotations

import logging

import gymnasium
import numpy as np
from omegaconf import OmegaConf

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

logger = logging.getLogger("train")

CONFIG = {"agent": {"gamma": 0.99, "alpha": 0.02, "noise": 0.1}, "env": {"id": "CartPole-v1"}}


def run_episode(env, weights, noise, rng):
    """The features of each step and the number of steps."""
    observation, _ = env.reset()
    seen, done = [], False
    while not done:
        seen.append(observation)
        action = int(weights @ observation + noise * rng.normal() > 0)
        observation, _, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
    return seen


def main():
    options = arguments()
    logging.basicConfig(level=logging.INFO)
    cfg = OmegaConf.create(CONFIG)
    env = gymnasium.make(cfg.env.id)
    rng = np.random.default_rng(0)
    weights, best = np.array([0.0, 0.1, 1.0, 0.5]), 0
    env.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        candidate = weights + cfg.agent.alpha * rng.normal(size=4)
        seen = run_episode(env, candidate, cfg.agent.noise, rng)
        logger.debug(f"{len(seen)} steps with {candidate}, mean observation {seen[-1].tolist()}")
        if len(seen) >= best:
            weights, best = candidate, len(seen)
        watch.count(len(seen))
    tell(watch.sps)


if __name__ == "__main__":
    main()
