"""The task: balance a pole on a cart, with the equations and limits of gymnasium's CartPole-v1."""

from __future__ import annotations

import math
import random

import numpy as np

OBSERVATION_SIZE = 4
ACTIONS = 2

GRAVITY = 9.8
CART_MASS = 1.0
POLE_MASS = 0.1
POLE_HALF_LENGTH = 0.5
PUSH = 10.0
SECONDS_PER_STEP = 0.02
MAX_POSITION = 2.4
MAX_ANGLE = math.radians(12)
MAX_STEPS = 500

Observation = tuple[float, ...]
"""Position and speed of the cart, angle and angular speed of the pole."""

Transition = tuple[float, ...]
"""What was seen, the action, the reward, what was seen then, and whether the pole fell."""

TRANSITION_SIZE = 2 * OBSERVATION_SIZE + 3


class CartPole:
    """Begins anew by itself when the pole has fallen or the time is up."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.observation = self._start()
        self.episodes = 0
        """How many have ended."""
        self.total_return = 0
        """Of all that have ended."""

    def step(self, action: int) -> Transition:
        before = self.observation
        after = self._move(action)
        self.steps += 1
        fell = abs(after[0]) > MAX_POSITION or abs(after[2]) > MAX_ANGLE
        if fell or self.steps >= MAX_STEPS:
            self.episodes += 1
            self.total_return += self.steps
            self.observation = self._start()
        else:
            self.observation = after
        return (*before, action, 1.0, *after, fell)

    def _start(self) -> Observation:
        self.steps = 0
        return tuple(self.random.uniform(-0.05, 0.05) for _ in range(OBSERVATION_SIZE))

    def _move(self, action: int) -> Observation:
        position, speed, angle, spin = self.observation
        force = PUSH if action == 1 else -PUSH
        sine, cosine = math.sin(angle), math.cos(angle)
        mass = CART_MASS + POLE_MASS
        pushed = (force + POLE_MASS * POLE_HALF_LENGTH * spin * spin * sine) / mass
        turning = (GRAVITY * sine - cosine * pushed) / (
            POLE_HALF_LENGTH * (4 / 3 - POLE_MASS * cosine * cosine / mass)
        )
        moving = pushed - POLE_MASS * POLE_HALF_LENGTH * turning * cosine / mass
        return (
            position + SECONDS_PER_STEP * speed,
            speed + SECONDS_PER_STEP * moving,
            angle + SECONDS_PER_STEP * spin,
            spin + SECONDS_PER_STEP * turning,
        )


def observe(envs: list[CartPole]) -> np.ndarray:
    """What all environments show, a row for each."""
    return np.array([env.observation for env in envs], dtype=np.float32)
