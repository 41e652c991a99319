"""Q-learning in a maze whose map and distances take a while to lay out: each episode makes the maze anew.

``--fixed`` makes it once and resets it. Nothing else changes.
"""

from __future__ import annotations

import random

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

SIDE = 24
LONGEST = 200
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Maze:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.free = [[rng.random() > 0.2 for _ in range(SIDE)] for _ in range(SIDE)]
        self.free[0][0] = self.free[SIDE - 1][SIDE - 1] = True
        self.distance = self._distances()
        self.reset()

    def _distances(self):
        found = {(SIDE - 1, SIDE - 1): 0}
        edge = list(found)
        while edge:
            after = []
            for x, y in edge:
                for dx, dy in MOVES:
                    at = (x + dx, y + dy)
                    if (
                        at not in found
                        and 0 <= at[0] < SIDE
                        and 0 <= at[1] < SIDE
                        and self.free[at[0]][at[1]]
                    ):
                        found[at] = found[x, y] + 1
                        after.append(at)
            edge = after
        return found

    def reset(self):
        self.at = (0, 0)
        self.left = LONGEST
        return self.at

    def step(self, action):
        dx, dy = MOVES[action]
        x, y = min(SIDE - 1, max(0, self.at[0] + dx)), min(SIDE - 1, max(0, self.at[1] + dy))
        before = self.distance.get(self.at, SIDE * SIDE)
        if self.free[x][y]:
            self.at = (x, y)
        self.left -= 1
        reward = before - self.distance.get(self.at, SIDE * SIDE)
        return self.at, float(reward), self.left == 0 or self.at == (SIDE - 1, SIDE - 1), {}


def main():
    options = arguments()
    rng = random.Random(0)
    values = {}
    once = Maze(0)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        maze = once if options.fixed else Maze(0)
        state = maze.reset()
        is_over = False
        while not is_over:
            row = values.setdefault(state, [0.0] * 4)
            action = rng.randrange(4) if rng.random() < 0.1 else row.index(max(row))
            after, reward, is_over, _ = maze.step(action)
            best = max(values.setdefault(after, [0.0] * 4))
            row[action] += 0.1 * (reward + 0.95 * best - row[action])
            state = after
            rlprof.step()
            watch.count()
    tell(watch.sps)


if __name__ == "__main__":
    main()
