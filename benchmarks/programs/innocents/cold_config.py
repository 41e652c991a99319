"""omegaconf, f-strings in debug messages and conversions of arrays, all once per generation."""

from __future__ import annotations

import logging

import gymnasium
import numpy as np
from omegaconf import OmegaConf

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

logger = logging.getLogger("train")

GENERATION = 5000
"""Steps of a generation, at least."""

CONFIG = {"agent": {"gamma": 0.99, "alpha": 0.02, "noise": 0.1}, "env": {"id": "CartPole-v1"}}


def run_episodes(env, weights, noise, rng):
    """The length of each episode, and the last observation."""
    lengths = []
    while sum(lengths) < GENERATION:
        observation, _ = env.reset()
        length, done = 0, False
        while not done:
            action = int(weights @ observation + noise * rng.normal() > 0)
            observation, _, terminated, truncated, _ = env.step(action)
            length, done = length + 1, terminated or truncated
        lengths.append(length)
    return lengths, observation


def main():
    options = arguments()
    logging.basicConfig(level=logging.INFO)
    cfg = OmegaConf.create(CONFIG)
    env = gymnasium.make(cfg.env.id)
    rng = np.random.default_rng(0)
    weights, best = np.array([0.0, 0.1, 1.0, 0.5]), 0.0
    env.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        candidate = weights + cfg.agent.alpha * rng.normal(size=4)
        lengths, last = run_episodes(env, candidate, cfg.agent.noise, rng)
        logger.debug(f"{len(lengths)} episodes with {candidate}, the last to {last.tolist()}")
        score = float(np.mean(lengths)) * cfg.agent.gamma
        if score >= best:
            weights, best = candidate, score
        watch.count(sum(lengths))
    tell(watch.sps)


if __name__ == "__main__":
    main()
