"""The same task in numpy: the state of all environments in arrays, a row for each."""

from __future__ import annotations

import numpy as np
from gridworld import (
    ACTIONS,
    AT_GOAL,
    AT_WALL,
    CLOSER,
    DOORS,
    EACH_STEP,
    MAX_STEPS,
    MOVES,
    OBSERVATION_SIZE,
    ONE_HOT,
    SIZE,
    SLIP,
    WALL,
    WIND,
)


class GridArrays:
    """Environments that begin anew by themselves, each when its episode is over."""

    def __init__(self, num_envs: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.moves = np.array(MOVES)
        self.wind = np.array(WIND)
        self.is_wall = np.zeros((SIZE, SIZE), bool)
        self.is_wall[:, WALL] = True
        self.is_wall[DOORS, WALL] = False
        self.place = self._floors(num_envs)
        self.goal = self._floors(num_envs)
        self.distance = self._distances()
        self.steps = np.zeros(num_envs, np.int64)
        self.total = np.zeros(num_envs, np.float32)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rewards, and which episodes are over; ``ended`` tells how these went."""
        count = len(actions)
        slips = self.random.random(count) < SLIP
        moves = self.moves[np.where(slips, self.random.integers(ACTIONS, size=count), actions)]
        moves[:, 0] -= self.random.random(count) < self.wind[self.place[:, 1]]
        wanted = (self.place + moves).clip(0, SIZE - 1)
        at_wall = self.is_wall[wanted[:, 0], wanted[:, 1]]
        self.place = np.where(at_wall[:, None], self.place, wanted)
        distance = self._distances()
        arrived = distance == 0
        closer = self.distance - distance
        rewards = EACH_STEP + AT_WALL * at_wall + CLOSER * closer + AT_GOAL * arrived
        self.distance = distance
        self.steps += 1
        self.total += rewards
        over = arrived | (self.steps >= MAX_STEPS)
        self.ended = self.steps, self.total
        self._start(over)
        return rewards.astype(np.float32), over

    def observe(self) -> np.ndarray:
        """What all environments show, a row for each: where one is, and where the goal is."""
        cells = np.concatenate((self.place, self.goal), axis=1)
        return ONE_HOT[cells].reshape(len(cells), OBSERVATION_SIZE)

    def _start(self, over: np.ndarray) -> None:
        count = len(over)
        self.place = np.where(over[:, None], self._floors(count), self.place)
        self.goal = np.where(over[:, None], self._floors(count), self.goal)
        self.distance = self._distances()
        self.steps = np.where(over, 0, self.steps)
        self.total = np.where(over, np.float32(0), self.total)

    def _distances(self) -> np.ndarray:
        return np.abs(self.goal - self.place).sum(axis=1)

    def _floors(self, count: int) -> np.ndarray:
        """Rows and columns of cells that are not in the wall."""
        columns = self.random.integers(SIZE - 1, size=count)
        columns += columns >= WALL
        return np.stack((self.random.integers(SIZE, size=count), columns), axis=1)
