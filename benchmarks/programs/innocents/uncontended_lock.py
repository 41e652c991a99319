"""An actor thread fills a buffer and a learner reads it now and then, under a lock that is free."""

from __future__ import annotations

import threading

import gymnasium
import numpy as np

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

CAPACITY = 10_000
LEARN_EVERY_S = 0.25


class Buffer:
    def __init__(self):
        self.lock = threading.Lock()
        self.observations = np.zeros((CAPACITY, 6), dtype=np.float32)
        self.rewards = np.zeros(CAPACITY, dtype=np.float32)
        self.size = 0

    def add(self, observation, reward):
        with self.lock:
            at = self.size % CAPACITY
            self.observations[at] = observation
            self.rewards[at] = reward
            self.size += 1

    def sample(self, rng, count):
        with self.lock:
            picked = rng.integers(min(self.size, CAPACITY), size=count)
            return self.observations[picked], self.rewards[picked]


def learner(buffer, weights, stop):
    rng = np.random.default_rng(0)
    while not stop.wait(LEARN_EVERY_S):
        observations, rewards = buffer.sample(rng, 256)
        errors = rewards - observations @ weights
        weights += 0.01 * observations.T @ errors / len(rewards)


def main():
    options = arguments()
    env = gymnasium.make("Acrobot-v1")
    env.action_space.seed(0)
    buffer, stop = Buffer(), threading.Event()
    weights = np.zeros(6)
    observation, _ = env.reset(seed=0)
    buffer.add(observation, 0.0)
    thread = threading.Thread(target=learner, args=(buffer, weights, stop))
    thread.start()
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        buffer.add(observation, reward)
        if terminated or truncated:
            env.reset()
        watch.count()
    stop.set()
    thread.join()
    tell(watch.sps)


if __name__ == "__main__":
    main()
