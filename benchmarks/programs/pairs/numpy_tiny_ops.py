"""Two actors whose environment does its arithmetic with numpy on vectors of three.

``--fixed`` is the same environment with plain floats.
"""

from __future__ import annotations

import math
import multiprocessing as mp

import numpy as np

import rlprof
from benchmarks.programs.stopwatch import Stopwatch, arguments, tell

NUM_ACTORS = 2
ROLLOUT = 500
DRAG = 0.05
TIME_STEP = 0.02


class ArrayDrone:
    def __init__(self):
        self.reset()

    def reset(self):
        self.position = np.zeros(3)
        self.velocity = np.array([0.1, 0.0, 0.0])
        self.target = np.array([1.0, 1.0, 2.0])
        self.steps = 0

    def step(self, thrust):
        force = np.clip(np.array(thrust), -1.0, 1.0) - DRAG * self.velocity
        self.velocity = self.velocity + TIME_STEP * force
        self.position = self.position + TIME_STEP * self.velocity
        distance = np.linalg.norm(self.position - self.target)
        effort = np.sum(np.square(thrust))
        self.steps += 1
        done = self.steps >= 400 or distance < 0.05 or np.any(np.abs(self.position) > 10.0)
        return (self.position - self.target).tolist(), float(-distance - 0.01 * effort), bool(done)


class FloatDrone:
    def __init__(self):
        self.reset()

    def reset(self):
        self.position = [0.0, 0.0, 0.0]
        self.velocity = [0.1, 0.0, 0.0]
        self.target = [1.0, 1.0, 2.0]
        self.steps = 0

    def step(self, thrust):
        offset = [0.0, 0.0, 0.0]
        for i in range(3):
            force = min(1.0, max(-1.0, thrust[i])) - DRAG * self.velocity[i]
            self.velocity[i] += TIME_STEP * force
            self.position[i] += TIME_STEP * self.velocity[i]
            offset[i] = self.position[i] - self.target[i]
        distance = math.sqrt(offset[0] ** 2 + offset[1] ** 2 + offset[2] ** 2)
        effort = thrust[0] ** 2 + thrust[1] ** 2 + thrust[2] ** 2
        self.steps += 1
        outside = max(map(abs, self.position)) > 10.0
        done = self.steps >= 400 or distance < 0.05 or outside
        return offset, -distance - 0.01 * effort, done


def actor(options, rates):
    env = FloatDrone() if options.fixed else ArrayDrone()
    offset = [0.0, 0.0, 0.0]
    total = 0.0
    watch = Stopwatch(options.seconds)
    while watch.is_running():
        for _ in range(ROLLOUT):
            thrust = [-0.8 * offset[0], -0.8 * offset[1], -0.8 * offset[2]]
            offset, reward, done = env.step(thrust)
            total += reward
            if done:
                env.reset()
        rlprof.step(ROLLOUT)
        watch.count(ROLLOUT)
    rates.put(watch.sps)


def main():
    options = arguments()
    context = mp.get_context("fork")
    rates = context.SimpleQueue()
    actors = [
        context.Process(target=actor, args=(options, rates), daemon=True) for _ in range(NUM_ACTORS)
    ]
    for process in actors:
        process.start()
    total = sum(rates.get() for _ in actors)
    for process in actors:
        process.join()
    tell(total)


if __name__ == "__main__":
    main()
