"""How long a training program runs, and its pace over the second half, told without rlprof."""

from __future__ import annotations

import argparse
import json
import resource
import time


class Stopwatch:
    """Starts with the first count, so that imports and the start of workers are left out.

    A program whose iterations take longer than ``seconds`` is run until there is a rate.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.steps = 0
        self._started: float | None = None
        self._half: tuple[float, int] | None = None
        self._last = 0.0
        self._cpu_s = tree_cpu_s()

    def count(self, steps: int = 1) -> None:
        self.steps += steps

    def is_running(self) -> bool:
        """Whether time is left; called once per iteration of the program."""
        now = self._last = time.perf_counter()
        if self._started is None:
            if self.steps:
                self._started = now
            return True
        if self._half is None:
            if now - self._started >= self.seconds / 2:
                self._half = (now, self.steps)
            return True
        return now - self._started < self.seconds

    @property
    def sps(self) -> float:
        """Steps per second since the first look at the clock in the second half."""
        assert self._half is not None, "is_running() has not said yet that time is over"
        since, steps = self._half
        return (self.steps - steps) / (self._last - since)

    @property
    def cpu_s_per_step(self) -> float:
        """Since the watch was made, of this process and of its children that have been waited for."""
        return (tree_cpu_s() - self._cpu_s) / self.steps


def arguments(seconds: float = 8.0) -> argparse.Namespace:
    """``--seconds`` to run for and ``--fixed`` for the program with its one fault put right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--fixed", action="store_true")
    return parser.parse_args()


def tree_cpu_s() -> float:
    """CPU seconds of this process and of its children that have been waited for."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in whose)


def tell(sps: float, **more: float) -> None:
    """The last line of each program."""
    print(json.dumps({"sps": sps, "tree_cpu_s": tree_cpu_s(), **more}), flush=True)
