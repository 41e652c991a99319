"""Two environments that take milliseconds per step, each in a worker process: as it should be."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ENVS = 2
GRID = 96


class HeatedPlate(gymnasium.Env):
    """A heater moves over a plate whose temperature is integrated in small steps."""

    observation_space = spaces.Box(-np.inf, np.inf, (8,), np.float32)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.plate = np.zeros((GRID, GRID))
        self.at, self.steps = [GRID // 2, GRID // 2], 0
        return self.observe(), {}

    def observe(self):
        return self.plate.reshape(8, -1).mean(axis=1).astype(np.float32)

    def step(self, action):
        axis, direction = action // 2, 1 if action % 2 else -1
        self.at[axis] = min(max(self.at[axis] + direction, 1), GRID - 2)
        for _ in range(60):
            self.plate[tuple(self.at)] += 1.0
            inner = self.plate[1:-1, 1:-1]
            around = self.plate[2:, 1:-1] + self.plate[:-2, 1:-1]
            around += self.plate[1:-1, 2:] + self.plate[1:-1, :-2]
            inner += 0.2 * (around - 4 * inner)
        self.steps += 1
        return self.observe(), -float(self.plate.std()), False, self.steps >= 500, {}


def main():
    options = arguments()
    envs = AsyncVectorEnv([HeatedPlate] * NUM_ENVS, context="fork")
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(8, 4))
    observations, _ = envs.reset(seed=0)
    best = -np.inf
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        observations, rewards, _, _, _ = envs.step((observations @ weights).argmax(axis=1))
        if rewards.mean() > best:
            best = float(rewards.mean())
        else:
            weights += 0.1 * rng.normal(size=(8, 4))
        watch.count(NUM_ENVS)
    envs.close()
    tell(watch.sps)


if __name__ == "__main__":
    main()
