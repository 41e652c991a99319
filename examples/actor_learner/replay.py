"""The ring of transitions that actors write and the learner samples."""

from __future__ import annotations

import numpy as np
from cartpole import TRANSITION_SIZE, CartPole, Transition
from shared import SharedArray


class Replay:
    """The last transitions, in one part for each writer.

    A part has one writer at a time: several processes that write to the same one need a lock.
    """

    def __init__(self, capacity: int, parts: int, agents: int) -> None:
        self.capacity = capacity // parts
        """Of each part."""
        self.rows = SharedArray((parts, self.capacity, TRANSITION_SIZE), np.float32)
        self.written = SharedArray((parts,), np.int64)
        self.episodes = SharedArray((agents, 2), np.int64)
        """How many have ended, and the sum of their returns, by agent."""

    def add(self, transition: Transition, part: int = 0) -> None:
        written = self.written.array[part]
        self.rows.array[part, written % self.capacity] = transition
        # Last, so that nobody reads a row before it is whole.
        self.written.array[part] = written + 1

    @property
    def steps(self) -> int:
        """How many transitions were ever added."""
        return int(self.written.array.sum())

    def sample(self, batch: int, rng: np.random.Generator) -> np.ndarray:
        """Copies of ``batch`` transitions, drawn uniformly; there must be one in some part."""
        kept = np.minimum(self.written.array, self.capacity)
        ends = kept.cumsum()
        drawn = rng.integers(ends[-1], size=batch)
        parts = np.searchsorted(ends, drawn, side="right")
        return self.rows.array[parts, drawn - (ends - kept)[parts]]

    def note_episodes(self, agent: int, envs: list[CartPole]) -> None:
        self.episodes.array[agent] = (
            sum(env.episodes for env in envs),
            sum(env.total_return for env in envs),
        )

    def free(self) -> None:
        for array in (self.rows, self.written, self.episodes):
            array.free()
