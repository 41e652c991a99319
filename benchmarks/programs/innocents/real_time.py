"""A robot's control loop at 50 Hz: the environment sleeps until its next tick, as it must."""

from __future__ import annotations

import time

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

TICK_S = 0.02


class RealTimeArm:
    def __init__(self):
        self.angles = np.zeros(6)
        self.next_tick = time.perf_counter()

    def step(self, torques):
        self.next_tick = max(self.next_tick + TICK_S, time.perf_counter())
        time.sleep(max(0.0, self.next_tick - time.perf_counter()))
        self.angles = 0.98 * self.angles + 0.02 * np.tanh(torques)
        return self.angles, -float(np.square(self.angles - 0.5).sum())


def main():
    options = arguments()
    rng = np.random.default_rng(0)
    env = RealTimeArm()
    gains = np.ones(6)
    angles, best = env.angles, -np.inf
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        angles, reward = env.step(gains * (0.5 - angles))
        if reward > best:
            best = reward
        else:
            gains += 0.01 * rng.normal(size=6)
        rlprof.step()
        watch.count()
    tell(watch.sps)


if __name__ == "__main__":
    main()
