"""End a training that has served: as its user would, and then less politely."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from rlprof.recording.experimenting import Bench

LOOK_S: Final = 0.2
"""How often it is looked whether something is due."""

TERMINATE_AFTER_S: Final = 8.0
"""For a training to end by itself after Ctrl-C: it may write a checkpoint."""

KILL_AFTER_S: Final = 12.0


@dataclass
class TrainingEnd:
    """The end of one training, once :meth:`go_on` is called again and again."""

    _since_s: float | None = None
    _asked: int = 0
    """How often it was asked to end."""

    @property
    def has_begun(self) -> bool:
        return self._since_s is not None

    def go_on(self, bench: Bench) -> float:
        """Do what is due, and return after how many seconds to be called again."""
        now_s = time.monotonic()
        if self._since_s is None:
            self._since_s = now_s
        steps = (
            (0.0, bench.interrupt_target),
            (TERMINATE_AFTER_S, bench.terminate_target),
            (KILL_AFTER_S, bench.kill_all),
        )
        while self._asked < len(steps) and now_s - self._since_s >= steps[self._asked][0]:
            steps[self._asked][1]()
            self._asked += 1
        return LOOK_S


@dataclass
class EndAfter:
    """An :class:`~rlprof.recording.experimenting.Experimenter` that ends a training so many seconds after its first count."""

    seconds: float
    has_ended_it: bool = False
    """True if the training has not ended by itself."""
    _first_s: float | None = None

    def __post_init__(self) -> None:
        self._end = TrainingEnd()

    def turn(self, bench: Bench) -> float:
        now_s = time.monotonic()
        if self._first_s is None and bench.has_counted():
            self._first_s = now_s
        if self._first_s is not None and now_s - self._first_s >= self.seconds:
            self.has_ended_it = True
            return self._end.go_on(bench)
        return LOOK_S

    def target_ended(self, bench: Bench) -> None:
        """Keep nothing: the run file has it all."""
