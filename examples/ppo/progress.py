"""How far the training is, and how fast it goes."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from network import Loss
from settings import Settings

WARM_UP = 2
"""Updates before the clock starts: the first ones load parts of torch, and kernels."""
SHOWN = 10
"""Lines that tell how it goes, in a whole training."""

logger = logging.getLogger("ppo")


class Progress:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.updates = 0
        self.sps = 0.0
        """Steps per second since warm-up; zero until an update after it is over."""
        self._began = 0.0

    @property
    def is_over(self) -> bool:
        return self.updates >= self.settings.updates

    @property
    def steps(self) -> int:
        return self.updates * self.settings.steps_per_update

    def report(self, mean_return: float, losses: Sequence[float]) -> None:
        """Count an update, log it, and print a line now and then.

        ``mean_return``: of the episodes that ended since the last update; ``losses``: their means, in
        the order of ``Loss``.
        """
        self.updates += 1
        now = time.perf_counter()
        if self.updates <= WARM_UP:
            self._began = now
        else:
            timed = (self.updates - WARM_UP) * self.settings.steps_per_update
            self.sps = timed / (now - self._began)
        named = ", ".join(f"{name} {loss:.4f}" for name, loss in zip(Loss._fields, losses))
        logger.info("update %d: mean return %.2f, %s", self.updates, mean_return, named)
        if self.is_over or self.updates % max(1, self.settings.updates // SHOWN) == 0:
            print(
                f"update {self.updates}: {self.steps} steps, mean return {mean_return:.2f}",
                flush=True,
            )
