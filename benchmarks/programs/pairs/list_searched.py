"""Exploration with a bonus for cells that an episode has not seen: it keeps them in a list.

``--fixed`` keeps them in a set. Nothing else changes.
"""

from __future__ import annotations

import random

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

SIDE = 40
LENGTH = 2_000
RATE, DISCOUNT = 0.1, 0.95


class Explorer:
    def __init__(self, *, fixed):
        self.rng = random.Random(0)
        self.fixed = fixed
        self.values = {}
        self.begin()

    def begin(self):
        self.at = (0, 0)
        self.visited = set() if self.fixed else []

    def move(self, action):
        x, y = self.at
        x = (x + (action == 0) - (action == 1)) % SIDE
        y = (y + (action == 2) - (action == 3)) % SIDE
        self.at = (x, y)
        if self.at in self.visited:
            return 0.0
        if self.fixed:
            self.visited.add(self.at)
        else:
            self.visited.append(self.at)
        return 1.0

    def learn(self):
        row = self.values.setdefault(self.at, [0.0] * 4)
        greedy = self.rng.random() > 0.3
        action = row.index(max(row)) if greedy else self.rng.randrange(4)
        bonus = self.move(action)
        best = max(self.values.setdefault(self.at, [0.0] * 4))
        row[action] += RATE * (bonus + DISCOUNT * best - row[action])


def main():
    options = arguments()
    explorer = Explorer(fixed=options.fixed)
    watch = Stopwatch(options.seconds)
    steps = 0
    while watch.is_running():
        explorer.learn()
        steps += 1
        if steps % LENGTH == 0:
            explorer.begin()
        rlprof.step()
        watch.count()
    tell(watch.sps)


if __name__ == "__main__":
    main()
