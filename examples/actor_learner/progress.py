"""How far the training is, and how fast it goes."""

from __future__ import annotations

import time

from replay import Replay
from settings import Settings


class Progress:
    """Its clock starts with the first epoch to end after ``warm_up`` steps, before which the
    learner has nothing to learn from and the actors nobody to wait for.
    """

    def __init__(self, settings: Settings, replay: Replay, warm_up: int) -> None:
        self.settings = settings
        self.replay = replay
        self.warm_up = warm_up
        self.epoch = 0
        self.steps = 0
        self.sps = 0.0
        """Steps per second since warm-up; zero until an epoch after it is over."""
        self._began: tuple[float, int] | None = None

    @property
    def is_over(self) -> bool:
        return self.epoch >= self.settings.epochs

    def report(self, updates: int) -> None:
        """Print a line when an epoch has ended."""
        self.steps = self.replay.steps
        epoch = self.steps // self.settings.steps
        if epoch == self.epoch:
            return
        now = time.perf_counter()
        if self._began is not None:
            began, steps_before = self._began
            self.sps = (self.steps - steps_before) / (now - began)
        elif self.steps >= self.warm_up:
            self._began = now, self.steps
        self.epoch = epoch
        episodes, total_return = self.replay.episodes.array.sum(axis=0)
        print(
            f"epoch {epoch}: {self.steps} steps, {updates} updates, "
            f"{episodes} episodes, mean return {total_return / max(1, episodes):.1f}",
            flush=True,
        )
