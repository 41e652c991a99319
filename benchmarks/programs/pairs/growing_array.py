"""Q-learning with random features on a pole: the rollout's arrays become longer by one row at each step.

``--fixed`` writes into arrays made once. Nothing else changes.
"""

from __future__ import annotations

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

ROLLOUT = 4000
FEATURES = 64


class Pole:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros(4)

    def step(self, push):
        x, v, angle, turn = self.state
        v, turn = v + 0.02 * push, turn + 0.02 * (9.8 * np.sin(angle) - push)
        self.state = np.array([x + 0.02 * v, v, angle + 0.02 * turn, turn])
        is_over = abs(angle) > 0.4
        if is_over:
            self.state = self.rng.normal(scale=0.05, size=4)
        return self.state, 0.0 if is_over else 1.0


class Rows:
    """The rows of one rollout."""

    def __init__(self, width, *, fixed):
        self.fixed = fixed
        self.kept = np.empty((ROLLOUT if fixed else 0, width))
        self.count = 0

    def add(self, row):
        if self.fixed:
            self.kept[self.count] = row
        else:
            self.kept = np.concatenate([self.kept, row[None]])
        self.count += 1

    def all(self):
        return self.kept[: self.count]


def main():
    options = arguments()
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, FEATURES))
    values = np.zeros((2, FEATURES))
    env = Pole(0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        seen, told = Rows(FEATURES, fixed=options.fixed), Rows(2, fixed=options.fixed)
        features = np.tanh(env.state @ weights)
        for _ in range(ROLLOUT):
            action = (
                int(np.argmax(values @ features)) if rng.random() > 0.1 else int(rng.integers(2))
            )
            state, reward = env.step(2.0 * action - 1.0)
            seen.add(features)
            told.add(np.array([action, reward]))
            features = np.tanh(state @ weights)
            rlprof.step()
            watch.count()
        actions, rewards = told.all()[:, 0].astype(int), told.all()[:, 1]
        for action in range(2):
            chosen = actions == action
            if chosen.any():
                error = rewards[chosen] - seen.all()[chosen] @ values[action]
                values[action] += 0.01 * error @ seen.all()[chosen] / chosen.sum()
    tell(watch.sps)


if __name__ == "__main__":
    main()
