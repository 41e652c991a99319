"""An evaluation loop that keeps every frame it ever saw, for a video that nobody makes.

It costs memory, not speed: the pair shows what a price of nothing is worth. ``--fixed`` keeps the
last hundred frames.
"""

from __future__ import annotations

from collections import deque

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

FRAME = (96, 96)


class Snake:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.body = deque([(48, 48)], maxlen=40)
        self.heading = (0, 1)

    def step(self, turn):
        down, right = self.heading
        self.heading = ((down, right), (right, -down), (-right, down))[turn]
        down, right = self.body[-1][0] + self.heading[0], self.body[-1][1] + self.heading[1]
        self.body.append((down % FRAME[0], right % FRAME[1]))

    def render(self):
        frame = np.zeros(FRAME, dtype=np.uint8)
        rows, columns = zip(*self.body, strict=True)
        frame[rows, columns] = 255
        return np.repeat(frame[..., None], 3, axis=2)


def features(frame):
    """Mean brightness of the frame in an 8 by 8 grid."""
    return frame[..., 0].reshape(8, 12, 8, 12).mean(axis=(1, 3)).ravel()


def main():
    options = arguments(seconds=26.0)
    env = Snake(0)
    weights = np.random.default_rng(0).normal(size=(64, 3))
    frames = deque(maxlen=100 if options.fixed else None)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        frame = env.render()
        frames.append(frame)
        for _ in range(12):  # an ensemble's votes
            scores = features(frame) @ weights
        env.step(int(scores.argmax()))
        rlprof.step()
        watch.count()
    tell(watch.sps)


if __name__ == "__main__":
    main()
