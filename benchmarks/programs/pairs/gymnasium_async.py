"""REINFORCE on gymnasium's asynchronous vector environment: four CartPoles in four processes.

``--fixed`` is gymnasium's synchronous one. Nothing here knows of rlprof.
"""

from __future__ import annotations

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 4
HORIZON = 64
LEARNING_RATE = 0.01


def policy(weights, observations, rng):
    """Sampled actions and the gradient of their log-probabilities."""
    right = 1 / (1 + np.exp(-observations @ weights))
    actions = (rng.random(NUM_ENVS) < right).astype(np.int64)
    return actions, (actions - right)[:, None] * observations


def train(envs, watch, rng):
    weights = np.zeros(4)
    observations, _ = envs.reset(seed=0)
    while watch.is_running():
        gradients, rewards = [], []
        for _ in range(HORIZON):
            actions, gradient = policy(weights, observations, rng)
            observations, reward, _, _, _ = envs.step(actions)
            gradients.append(gradient)
            rewards.append(reward)
        to_go = np.cumsum(np.array(rewards)[::-1], axis=0)[::-1]
        advantages = to_go - to_go.mean(axis=1, keepdims=True)
        weights += LEARNING_RATE * (advantages[..., None] * np.array(gradients)).mean(axis=(0, 1))
        watch.count(NUM_ENVS * HORIZON)


def main():
    options = arguments()
    mode = "sync" if options.fixed else "async"
    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode=mode)
    watch = Stopwatch(options.seconds)
    train(envs, watch, np.random.default_rng(0))
    envs.close()
    tell(watch.sps, cpu_s_per_step=watch.cpu_s_per_step)


if __name__ == "__main__":
    main()
