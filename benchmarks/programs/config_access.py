"""An environment that reads its omegaconf configuration at every step.

``--fixed`` builds plain objects of it once; ``--clock`` also tells how long the reading took.
"""

from __future__ import annotations

import argparse
import random
from types import SimpleNamespace

from omegaconf import OmegaConf
from pacing import Clocked, announce, make_steps, report

import rlprof

CONFIG = {
    "env": {"gravity": 9.8, "noise": 0.1, "limit": 2.4},
    "agent": {"epsilon": 0.1, "gain": 0.5},
}

SUBSTEPS = 300
"""Calls that have nothing to do with the configuration."""


def plain(config):
    """Attribute access as before, on objects built once."""
    return SimpleNamespace(**{name: SimpleNamespace(**part) for name, part in config.items()})


class Cart:
    def __init__(self, cfg):
        self.cfg = cfg
        self.random = random.Random(0)
        self.position = 0.0
        self.speed = 0.0
        self.level = 0.0

    def agent_settings(self):
        epsilon = self.cfg.agent.epsilon  # guilty
        gain = self.cfg.agent.gain  # guilty
        return epsilon, gain

    def env_settings(self):
        gravity = self.cfg.env.gravity  # guilty
        noise = self.cfg.env.noise  # guilty
        return gravity, noise

    def act(self):
        epsilon, gain = self.agent_settings()
        if self.random.random() < epsilon:
            return self.random.uniform(-1.0, 1.0)
        return -gain * self.position

    def move(self, force):
        gravity, noise = self.env_settings()
        self.speed += (force * gravity + self.random.gauss(0.0, noise)) * 0.02
        self.position += self.speed * 0.02

    def settle(self, value):
        for _ in range(SUBSTEPS):
            value += self.slope(value) * 0.001
        return value

    def slope(self, value):
        return 0.5 - value

    def step(self):
        self.move(self.act())
        self.level = self.settle(self.level)
        if abs(self.position) > 2.4:
            self.position = self.speed = 0.0
        rlprof.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--clock", action="store_true")
    arguments = parser.parse_args()
    cart = Cart(plain(CONFIG) if arguments.fixed else OmegaConf.create(CONFIG))
    if arguments.clock:
        cart.agent_settings = Clocked(cart.agent_settings)
        cart.env_settings = Clocked(cart.env_settings)
    announce()
    done = make_steps(arguments.seconds, cart.step)
    if arguments.clock:
        done["guilty_s"] = (cart.agent_settings.spent_ns + cart.env_settings.spent_ns) / 1e9
    report(**done)


if __name__ == "__main__":
    main()
