"""A bandit that formats an array in an f-string for a debug message nobody sees.

``--fixed`` leaves the formatting to logging, which skips it; ``--clock`` also tells how long the
message took.
"""

from __future__ import annotations

import argparse
import logging

import numpy as np
from pacing import Clocked, announce, make_steps, report

import rlprof

logger = logging.getLogger("bandit")

SUBSTEPS = 300
"""Calls that have nothing to do with the message."""


class Bandit:
    def __init__(self, *, lazy):
        self.random = np.random.default_rng(0)
        self.means = self.random.normal(size=10)
        self.values = np.zeros(10)
        self.level = 0.0
        self.log = self.log_lazily if lazy else self.log_eagerly

    def act(self):
        if self.random.random() < 0.1:
            return int(self.random.integers(10))
        return int(self.probabilities().argmax())

    def probabilities(self):
        weights = np.exp(self.values - self.values.max())
        return weights / weights.sum()

    def pull(self, arm):
        self.means += self.random.normal(0.0, 0.01, size=10)
        return self.means[arm] + self.random.normal()

    def step(self):
        arm = self.act()
        reward = self.pull(arm)
        self.values[arm] += 0.1 * (reward - self.values[arm])
        self.level = self.drift(self.level)
        self.log(arm)
        rlprof.step()

    def drift(self, value):
        for _ in range(SUBSTEPS):
            value += self.slope(value) * 0.001
        return value

    def slope(self, value):
        return 0.5 - value

    def log_eagerly(self, arm):
        logger.debug(f"arm {arm}: values {self.values}")  # guilty

    def log_lazily(self, arm):
        logger.debug("arm %d: values %s", arm, self.values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--clock", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    bandit = Bandit(lazy=arguments.fixed)
    if arguments.clock:
        bandit.log = Clocked(bandit.log)
    announce()
    done = make_steps(arguments.seconds, bandit.step)
    if arguments.clock:
        done["guilty_s"] = bandit.log.spent_ns / 1e9
    report(**done)


if __name__ == "__main__":
    main()
