"""A search that looks some moves ahead in a game: each simulation plays on in a copy of the whole game.

``--fixed`` has the game make its own copy, of what changes alone. Nothing else changes.
"""

from __future__ import annotations

import copy

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

SIMULATIONS = 24
DEPTH = 12
SIDE = 12


class Hunt:
    """A hunter on a board with some prey that run away; its map of the board never changes."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.walls = (rng.random((SIDE, SIDE)) < 0.15).tolist()
        self.hunter = [0, 0]
        self.prey = [[int(x), int(y)] for x, y in rng.integers(SIDE // 2, SIDE, size=(6, 2))]
        self.history = []
        self.score = 0.0

    def clone(self):
        other = Hunt.__new__(Hunt)
        other.walls = self.walls
        other.hunter = [*self.hunter]
        other.prey = [[*animal] for animal in self.prey]
        other.history = [*self.history]
        other.score = self.score
        return other

    def play(self, move):
        dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[move]
        x, y = (self.hunter[0] + dx) % SIDE, (self.hunter[1] + dy) % SIDE
        if not self.walls[x][y]:
            self.hunter = [x, y]
        for animal in self.prey:
            away = 1 if animal[0] >= self.hunter[0] else -1
            animal[0] = min(SIDE - 1, max(0, animal[0] + away))
            self.score -= abs(animal[0] - x) + abs(animal[1] - y)
        self.history = [*self.history[-15:], move]
        return self.score


def best_move(game, rng, *, fixed):
    totals = [0.0] * 4
    for number in range(SIMULATIONS):
        trial = game.clone() if fixed else copy.deepcopy(game)
        first = number % 4
        result = trial.play(first)
        for _ in range(DEPTH):
            result = trial.play(int(rng.integers(4)))
        totals[first] += result
    return max(range(4), key=totals.__getitem__)


def main():
    options = arguments()
    rng = np.random.default_rng(0)
    game = Hunt(0)
    watch = Stopwatch(options.seconds)
    moves = 0
    while watch.is_running():
        game.play(best_move(game, rng, fixed=options.fixed))
        moves += 1
        if moves % 50 == 0:
            game = Hunt(moves)
        rlprof.step()
        watch.count()
    tell(watch.sps)


if __name__ == "__main__":
    main()
