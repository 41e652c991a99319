"""The task: walk in the wind, through the doors of a wall, to a goal that is elsewhere each time.

One environment at a time, in plain Python.
"""

from __future__ import annotations

import random

import numpy as np

SIZE = 8
"""Rows, and columns."""
WALL = 3
"""The column that is a wall but for its doors."""
DOORS = (1, 6)
"""Rows of the wall where one can pass."""
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Rows and columns that each action goes."""
ACTIONS = len(MOVES)
SLIP = 0.1
"""How often the floor is slippery, and the action is a random one."""
WIND = (0.0, 0.0, 0.1, 0.0, 0.1, 0.3, 0.3, 0.1)
"""How often the wind in a column carries one a row up."""
MAX_STEPS = 60
AT_GOAL = 1.0
EACH_STEP = -0.01
CLOSER = 0.02
"""For each row or column that the goal is closer than before."""
AT_WALL = -0.02
"""For a move that ends at the wall."""

OBSERVATION_SIZE = 4 * SIZE

ONE_HOT = np.eye(SIZE, dtype=np.float32)


class GridWorld:
    """Begins anew by itself when the goal is reached or the time is up."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._start()

    def step(self, action: int) -> tuple[float, bool]:
        """The reward, and whether the episode is over; ``episode`` tells how that went."""
        if self.random.random() < SLIP:
            action = self.random.randrange(ACTIONS)
        down, right = MOVES[action]
        if self.random.random() < WIND[self.column]:
            down -= 1
        row = min(max(self.row + down, 0), SIZE - 1)
        column = min(max(self.column + right, 0), SIZE - 1)
        reward = EACH_STEP
        if column == WALL and row not in DOORS:
            reward += AT_WALL
        else:
            self.row, self.column = row, column
        distance = abs(self.goal_row - self.row) + abs(self.goal_column - self.column)
        reward += CLOSER * (self.distance - distance)
        self.distance = distance
        if distance == 0:
            reward += AT_GOAL
        self.steps += 1
        self.total += reward
        over = distance == 0 or self.steps >= MAX_STEPS
        if over:
            self.episode = self.steps, self.total
            self._start()
        return reward, over

    def _start(self) -> None:
        self.row, self.column = self._floor()
        self.goal_row, self.goal_column = self._floor()
        self.distance = abs(self.goal_row - self.row) + abs(self.goal_column - self.column)
        self.steps = 0
        self.total = 0.0

    def _floor(self) -> tuple[int, int]:
        """A cell that is not in the wall."""
        column = self.random.randrange(SIZE - 1)
        return self.random.randrange(SIZE), column if column < WALL else column + 1


def observe(envs: list[GridWorld]) -> np.ndarray:
    """What all environments show, a row for each: where one is, and where the goal is."""
    cells = np.array([(env.row, env.column, env.goal_row, env.goal_column) for env in envs])
    return ONE_HOT[cells].reshape(len(envs), OBSERVATION_SIZE)
