"""Q-learning whose transitions go to a file through an object of its own, which flushes after each row.

``--fixed`` leaves the flushing to the file.
"""

from __future__ import annotations

import csv
import random
import tempfile
from pathlib import Path

import gymnasium

from benchmarks.programs.stopwatch import Stopwatch, arguments, tell


class Ledger:
    """Takes rows; what they become is its own business."""

    def __init__(self, path, careful):
        self._stream = path.open("w", newline="")
        self._rows = csv.writer(self._stream)
        self._careful = careful

    def put(self, row):
        self._rows.writerow(row)
        if self._careful:
            self._stream.flush()


class Journey:
    def __init__(self, sink):
        self.sink = sink
        self.number = 0

    def note(self, *what):
        self.number += 1
        self.sink.put((self.number, *what))


class Chain(gymnasium.Env):
    """Twelve states in a row; the last one pays."""

    observation_space = gymnasium.spaces.Discrete(12)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.at, self.age = 0, 0
        return self.at, {}

    def step(self, action):
        self.at = min(11, self.at + 1) if action else 0
        self.age += 1
        return self.at, float(self.at == 11), False, self.age >= 100, {}


def main():
    options = arguments()
    dice = random.Random(0)
    values = [[0.0, 0.1] for _ in range(12)]
    with tempfile.TemporaryDirectory() as folder:
        journey = Journey(Ledger(Path(folder, "journey.csv"), careful=not options.fixed))
        env = Chain()
        state, _ = env.reset()
        watch = Stopwatch(options.seconds)
        while watch.is_running():
            row = values[state]
            action = dice.randrange(2) if dice.random() < 0.1 else int(row[1] > row[0])
            following, reward, _, over, _ = env.step(action)
            row[action] += 0.1 * (reward + 0.95 * max(values[following]) - row[action])
            journey.note(state, action, reward)
            watch.count()
            state = env.reset()[0] if over else following
    tell(watch.sps)


if __name__ == "__main__":
    main()
