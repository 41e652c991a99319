"""An environment that reads its omegaconf configuration at every step.

``--fixed`` builds plain objects of it once.
"""

from __future__ import annotations

import argparse
import random
from types import SimpleNamespace

from omegaconf import OmegaConf
from pacing import announce, make_steps, report

import rlprof

CONFIG = {
    "env": {"gravity": 9.8, "noise": 0.1, "limit": 2.4},
    "agent": {"epsilon": 0.1, "gain": 0.5},
}


def plain(config):
    """Attribute access as before, on objects built once."""
    return SimpleNamespace(**{name: SimpleNamespace(**part) for name, part in config.items()})


class Cart:
    def __init__(self, cfg):
        self.cfg = cfg
        self.random = random.Random(0)
        self.position = 0.0
        self.speed = 0.0
        self.history = [0.0] * 512

    def act(self):
        epsilon = self.cfg.agent.epsilon  # guilty
        if self.random.random() < epsilon:
            return self.random.uniform(-1.0, 1.0)
        gain = self.cfg.agent.gain  # guilty
        return -gain * self.position

    def move(self, force):
        gravity = self.cfg.env.gravity  # guilty
        noise = self.cfg.env.noise  # guilty
        self.speed += (force * gravity + self.random.gauss(0.0, noise)) * 0.02
        self.position += self.speed * 0.02

    def remember(self):
        self.history.append(self.position)
        del self.history[0]
        return sum(value * value for value in self.history)

    def step(self):
        self.move(self.act())
        self.remember()
        if abs(self.position) > 2.4:
            self.position = self.speed = 0.0
        rlprof.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--fixed", action="store_true")
    arguments = parser.parse_args()
    cart = Cart(plain(CONFIG) if arguments.fixed else OmegaConf.create(CONFIG))
    announce()
    report(**make_steps(arguments.seconds, cart.step))


if __name__ == "__main__":
    main()
