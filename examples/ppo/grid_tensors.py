"""The same task in torch: the state of all environments in tensors on the training's device."""

from __future__ import annotations

import torch
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
    SIZE,
    SLIP,
    WALL,
    WIND,
)


class GridTensors:
    """Environments that begin anew by themselves, each when its episode is over."""

    def __init__(self, num_envs: int, seed: int, device: torch.device) -> None:
        self.device = device
        self.random = torch.Generator(device).manual_seed(seed)
        self.moves = torch.tensor(MOVES, device=device)
        self.wind = torch.tensor(WIND, device=device)
        self.one_hot = torch.eye(SIZE, device=device)
        self.is_wall = torch.zeros(SIZE, SIZE, dtype=torch.bool)
        self.is_wall[:, WALL] = True
        self.is_wall[DOORS, WALL] = False
        self.is_wall = self.is_wall.to(device)
        self.place = self._floors(num_envs)
        self.goal = self._floors(num_envs)
        self.distance = self._distances()
        self.steps = torch.zeros(num_envs, dtype=torch.int64, device=device)
        self.total = torch.zeros(num_envs, device=device)

    def step(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The rewards, and which episodes are over; ``ended`` tells how these went."""
        count = len(actions)
        slips = self._random(count) < SLIP
        moves = self.moves[torch.where(slips, self._below(ACTIONS, count), actions)]
        moves[:, 0] -= (self._random(count) < self.wind[self.place[:, 1]]).long()
        wanted = (self.place + moves).clamp(0, SIZE - 1)
        at_wall = self.is_wall[wanted[:, 0], wanted[:, 1]]
        self.place = torch.where(at_wall[:, None], self.place, wanted)
        distance = self._distances()
        arrived = distance == 0
        closer = self.distance - distance
        rewards = EACH_STEP + AT_WALL * at_wall + CLOSER * closer + AT_GOAL * arrived
        self.distance = distance
        self.steps = self.steps + 1
        self.total = self.total + rewards
        over = arrived | (self.steps >= MAX_STEPS)
        self.ended = self.steps, self.total
        self._start(over)
        return rewards, over

    def observe(self) -> torch.Tensor:
        """What all environments show, a row for each: where one is, and where the goal is."""
        cells = torch.cat((self.place, self.goal), dim=1)
        return self.one_hot[cells].view(len(cells), OBSERVATION_SIZE)

    def _start(self, over: torch.Tensor) -> None:
        count = len(over)
        self.place = torch.where(over[:, None], self._floors(count), self.place)
        self.goal = torch.where(over[:, None], self._floors(count), self.goal)
        self.distance = self._distances()
        self.steps = self.steps.masked_fill(over, 0)
        self.total = self.total.masked_fill(over, 0)

    def _distances(self) -> torch.Tensor:
        return (self.goal - self.place).abs().sum(dim=1)

    def _floors(self, count: int) -> torch.Tensor:
        """Rows and columns of cells that are not in the wall."""
        columns = self._below(SIZE - 1, count)
        columns = columns + (columns >= WALL)
        return torch.stack((self._below(SIZE, count), columns), dim=1)

    def _random(self, count: int) -> torch.Tensor:
        return torch.rand(count, generator=self.random, device=self.device)

    def _below(self, limit: int, count: int) -> torch.Tensor:
        return torch.randint(limit, (count,), generator=self.random, device=self.device)
