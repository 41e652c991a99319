"""A bandit that draws a line of its own on the screen at every step, by an object that is called.

``--fixed`` draws every thousandth.
"""

from __future__ import annotations

import functools
import random
import sys

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

ARMS = 10
WIDTH = 30


class Needle:
    def __init__(self, dial):
        self.dial = dial
        self.mean = 0.0

    def __call__(self, turn, every, reward):
        self.mean += (reward - self.mean) * 0.001
        if turn % every == 0:
            filled = "=" * (turn // 1000 % WIDTH)
            self.dial.write(f"\r[{filled:<{WIDTH}}] {turn} {self.mean:+.4f}")
            self.dial.flush()


def main():
    options = arguments()
    dice = random.Random(0)
    worth = [dice.gauss(0.0, 1.0) for _ in range(ARMS)]
    guesses, pulls = [0.0] * ARMS, [0] * ARMS
    show = functools.partial(Needle(sys.stderr), every=1000 if options.fixed else 1)
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        arm = dice.randrange(ARMS) if dice.random() < 0.1 else guesses.index(max(guesses))
        reward = dice.gauss(worth[arm], 1.0)
        pulls[arm] += 1
        guesses[arm] += (reward - guesses[arm]) / pulls[arm]
        watch.count()
        rlprof.step()
        show(watch.steps, reward=reward)
    tell(watch.sps)


if __name__ == "__main__":
    main()
