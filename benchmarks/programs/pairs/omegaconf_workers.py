"""Two environment workers that look up their omegaconf configuration at each step.

``--fixed`` turns it into a plain object once per worker.
"""

from __future__ import annotations

import math
import multiprocessing as mp
from types import SimpleNamespace

import numpy as np
from omegaconf import OmegaConf

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_WORKERS = 2
ROLLOUT = 64
SUBSTEPS = 50

CONFIG = """
env:
  gravity: 9.8
  length: 0.5
  force: 10.0
  time_step: 0.02
  limit: 2.4
agent:
  gain: 0.7
"""


def plain(config):
    parts = OmegaConf.to_container(config, resolve=True)
    return SimpleNamespace(**{name: SimpleNamespace(**part) for name, part in parts.items()})


class CartPole:
    def __init__(self, cfg):
        self.cfg = cfg
        self.reset()

    def reset(self):
        self.state = [0.0, 0.0, 0.05, 0.0]

    def step(self, action):
        env = self.cfg.env
        x, x_speed, angle, speed = self.state
        push = env.force if action else -env.force
        gravity, length, time_step = env.gravity, env.length, env.time_step / SUBSTEPS
        for _ in range(SUBSTEPS):
            pull = gravity * math.sin(angle) - push * math.cos(angle)
            speed += time_step * pull / length
            x_speed += time_step * push
            x += time_step * x_speed
            angle = max(-math.pi, min(math.pi, angle + time_step * speed))
        self.state = [x, x_speed, angle, speed]
        done = abs(x) > env.limit or abs(angle) > 0.4
        if done:
            self.reset()
        return self.state, 1.0, done


def env_worker(cfg, fixed, connection):
    cfg = plain(cfg) if fixed else cfg
    env = CartPole(cfg)
    state = env.state
    features = np.random.default_rng(0).normal(size=(4, 200))
    while (weights := connection.recv()) is not None:
        returns = 0.0
        for _ in range(ROLLOUT):
            score = float(np.tanh(np.asarray(state) @ features) @ weights) + state[2]
            state, reward, _ = env.step(score > cfg.agent.gain * state[0])
            returns += reward
        rlprof.step(ROLLOUT)
        connection.send(returns)


def main():
    options = arguments()
    cfg = OmegaConf.create(CONFIG)
    context = mp.get_context("fork")
    connections = []
    for _ in range(NUM_WORKERS):
        ours, theirs = context.Pipe()
        arguments_of_worker = cfg, options.fixed, theirs
        context.Process(target=env_worker, args=arguments_of_worker, daemon=True).start()
        theirs.close()
        connections.append(ours)
    rng = np.random.default_rng(0)
    weights, best = np.zeros(200), 0.0
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        candidate = weights + 0.1 * rng.normal(size=200)
        for connection in connections:
            connection.send(candidate)
        score = sum(connection.recv() for connection in connections)
        if score > best:
            weights, best = candidate, score
        watch.count(NUM_WORKERS * ROLLOUT)
    for connection in connections:
        connection.send(None)
    tell(watch.sps)


if __name__ == "__main__":
    main()
