"""Epsilon-greedy on a drifting testbed, with messages formatted only when they are shown.

rlprof should find: the loop is as fast as it needs to be, and in a short training the imports take longer than the steps (startup-bound).
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from omegaconf import DictConfig, OmegaConf

import rlprof

logger = logging.getLogger(__name__)


class Bandit:
    def __init__(self, cfg: dict[str, Any], rng: np.random.Generator) -> None:
        self.cfg = cfg
        self.rng = rng
        self.means = rng.normal(0.0, cfg["env"]["mean_scale"], size=cfg["env"]["arms"])

    def step(self, arm: int) -> float:
        reward = self.rng.normal(self.means[arm], self.cfg["env"]["noise"])
        self.means += self.rng.normal(0.0, self.cfg["env"]["drift"], size=self.cfg["env"]["arms"])
        return float(reward)

    def optimal_arm(self) -> int:
        return int(self.means.argmax())


class Agent:
    def __init__(self, cfg: dict[str, Any], rng: np.random.Generator) -> None:
        self.cfg = cfg
        self.rng = rng
        self.values = np.full(cfg["env"]["arms"], cfg["agent"]["initial_value"])

    def act(self) -> int:
        if self.rng.random() < self.cfg["agent"]["epsilon"]:
            return int(self.rng.integers(self.cfg["env"]["arms"]))
        return int(self.values.argmax())

    def learn(self, arm: int, reward: float) -> None:
        self.values[arm] += self.cfg["agent"]["step_size"] * (reward - self.values[arm])


def run(config: DictConfig, seed: int) -> tuple[float, float]:
    """Train one agent; returns its mean reward and how often it chose the best arm."""
    cfg = OmegaConf.to_container(config, resolve=True)
    rng = np.random.default_rng(seed)
    bandit = Bandit(cfg, rng)
    agent = Agent(cfg, rng)
    rewards = 0.0
    optimal = 0
    for step in range(cfg["steps"]):
        optimal_arm = bandit.optimal_arm()
        arm = agent.act()
        reward = bandit.step(arm)
        agent.learn(arm, reward)
        rewards += reward
        optimal += arm == optimal_arm
        if step % cfg["log"]["every"] == 0:
            logger.debug("step %d: arm %d, reward %.3f, values %s", step, arm, reward, agent.values)
        rlprof.step()
    return rewards / cfg["steps"], optimal / cfg["steps"]
