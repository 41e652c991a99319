"""An evaluation worker that by design gets a policy only now and then, beside a busy learner."""

from __future__ import annotations

import multiprocessing as mp

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

EVALUATE_EVERY = 4000


def evaluator(policies, returns):
    env = gymnasium.make("Acrobot-v1")
    while (weights := policies.get()) is not None:
        observation, _ = env.reset(seed=0)
        steps, done = 0, False
        while not done:
            action = 1 + int(np.sign(weights @ observation))
            observation, _, terminated, truncated, _ = env.step(action)
            steps, done = steps + 1, terminated or truncated
        returns.put(steps)


def main():
    options = arguments()
    context = mp.get_context("fork")
    policies, returns = context.Queue(), context.Queue()
    worker = context.Process(target=evaluator, args=(policies, returns), daemon=True)
    worker.start()
    env = gymnasium.make("Acrobot-v1")
    env.action_space.seed(0)
    weights = np.zeros(6)
    observation, _ = env.reset(seed=0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        following, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        error = reward + 0.99 * weights @ following - weights @ observation
        weights += 0.001 * error * observation
        observation = env.reset()[0] if terminated or truncated else following
        watch.count()
        if watch.steps % EVALUATE_EVERY == 0:
            policies.put(weights.copy())
    policies.put(None)
    worker.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
