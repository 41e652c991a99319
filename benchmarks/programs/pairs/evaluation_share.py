"""Q-learning on a slope with wind, and after each episode three of greedy play to see how it goes.

``--fixed`` plays them after every thirtieth. Nothing else changes.
"""

from __future__ import annotations

import random

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

WIDTH = 30
LONGEST = 120


class Slope:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.at = 0
        self.left = 0

    def reset(self):
        self.at, self.left = self.rng.randrange(WIDTH), LONGEST
        return self.at

    def step(self, action):
        wind = self.rng.choice((-1, 0, 0, 1))
        self.at = min(WIDTH - 1, max(0, self.at + (1 if action else -1) + wind))
        self.left -= 1
        return self.at, -abs(self.at - WIDTH // 2) / WIDTH, self.left == 0, {}


def how_it_goes(values, slope, episodes):
    total = 0.0
    for _ in range(episodes):
        at, is_over = slope.reset(), False
        while not is_over:
            row = values[at]
            at, reward, is_over, _ = slope.step(row.index(max(row)))
            total += reward
    return total / episodes


def main():
    options = arguments()
    rng = random.Random(0)
    values = [[0.0, 0.0] for _ in range(WIDTH)]
    slope, quiet_slope = Slope(0), Slope(1)
    watch = Stopwatch(options.seconds)
    episodes, best = 0, float("-inf")
    while watch.is_running():
        at, is_over, steps = slope.reset(), False, 0
        while not is_over:
            row = values[at]
            action = rng.randrange(2) if rng.random() < 0.1 else row.index(max(row))
            after, reward, is_over, _ = slope.step(action)
            row[action] += 0.1 * (reward + 0.95 * max(values[after]) - row[action])
            at = after
            steps += 1
        rlprof.step(steps)
        watch.count(steps)
        episodes += 1
        if episodes % (30 if options.fixed else 1) == 0:
            best = max(best, how_it_goes(values, quiet_slope, 3))
    tell(watch.sps, best=best)


if __name__ == "__main__":
    main()
