"""Noise of training runs, as it was seen on runners, to simulate checks with.

Every kind gives the logarithms of the rates of runs of one program, in the order of time: an array of
checks by runs. ``Noise.ratios`` takes it for the runs of both sides, in the order of a real check: base head,
head base, base head, …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
"""An array of numpy, or its generator of random numbers."""

JOB_SIGMA = 0.26
"""Between jobs of one workflow on shared runners (fast_mail_parser, pull request 128)."""


@dataclass(frozen=True)
class Noise:
    name: str
    draw: Callable[[Array, int, int], Array]
    """From a generator, the number of checks, and the number of runs in each."""
    is_promised: bool = True
    """Whether the rate of false failures must hold here."""
    finds: float | None = None
    """Part of the slowdowns by 10 % that must be found."""

    def ratios(self, random: Array, checks: int, pairs: int, *, slowdown: float = 0.0) -> Array:
        """Logarithms of head over base, for every pair of every check."""
        runs = self.draw(random, checks, 2 * pairs).reshape(checks, pairs, 2)
        first, second = runs[:, :, 0], runs[:, :, 1]
        base_first = np.arange(pairs) % 2 == 0
        ratios = np.where(base_first, second - first, first - second)
        return ratios + np.log(1 - slowdown)


def within_job(sigma: float) -> Callable[[Array, int, int], Array]:
    def draw(random: Array, checks: int, runs: int) -> Array:
        job = random.normal(0, JOB_SIGMA, (checks, 1))
        return job + random.normal(0, sigma, (checks, runs))

    return draw


def outliers(sigma: float, share: float) -> Callable[[Array, int, int], Array]:
    """Some runs are slower by 5 to 40 %: a neighbour, a full disk, a page cache that was cold."""

    def draw(random: Array, checks: int, runs: int) -> Array:
        hit = random.random((checks, runs)) < share
        lost = random.uniform(0.05, 0.4, (checks, runs))
        return within_job(sigma)(random, checks, runs) + np.where(hit, np.log(1 - lost), 0)

    return draw


def two_layouts(apart: float, share: float) -> Callable[[Array, int, int], Array]:
    """Each start of a process lands in a fast or, ``share`` of the time, a slow layout; 1 % on top."""

    def draw(random: Array, checks: int, runs: int) -> Array:
        slow = random.random((checks, runs)) < share
        return within_job(0.01)(random, checks, runs) + np.where(slow, np.log(1 - apart), 0)

    return draw


def windows(
    sigma: float, correlation: float, count: int = 40
) -> Callable[[Array, int, int], Array]:
    """A run is the median of windows that depend on those before them (first-order autoregression)."""

    def draw(random: Array, checks: int, runs: int) -> Array:
        # By pieces: all windows of all checks at once would take gigabytes.
        pieces = [
            run_medians(random, min(500, checks - done), runs) for done in range(0, checks, 500)
        ]
        return np.concatenate(pieces) + random.normal(0, JOB_SIGMA, (checks, 1))

    def run_medians(random: Array, checks: int, runs: int) -> Array:
        fresh = random.normal(0, sigma, (checks, runs, count))
        series = np.empty_like(fresh)
        series[:, :, 0] = fresh[:, :, 0]
        rest = (1 - correlation**2) ** 0.5
        for window in range(1, count):
            series[:, :, window] = (
                correlation * series[:, :, window - 1] + rest * fresh[:, :, window]
            )
        return np.median(series, axis=2)

    return draw


def drifting(sigma: float, correlation: float) -> Callable[[Array, int, int], Array]:
    """The machine's own speed changes from run to run, slowly; 1 % on top."""

    def draw(random: Array, checks: int, runs: int) -> Array:
        machine = random.normal(0, sigma, (checks, runs))
        rest = (1 - correlation**2) ** 0.5
        for run in range(1, runs):
            machine[:, run] = correlation * machine[:, run - 1] + rest * machine[:, run]
        return machine + within_job(0.01)(random, checks, runs)

    return draw


def side_layouts(apart: float) -> Callable[[Array, int, int], Array]:
    """A layout that each side keeps for the whole job, as one that comes with the length of a path."""

    def draw(random: Array, checks: int, runs: int) -> Array:
        slow = random.random((checks, 2)) < 0.5
        # Runs 0, 3, 4, 7, … are of base, as ``ratios`` takes them.
        side = np.array([(run // 2 + run) % 2 for run in range(runs)])
        return within_job(0.01)(random, checks, runs) + np.where(
            slow[:, side], np.log(1 - apart), 0
        )

    return draw


LOG_NORMAL = (
    Noise("within a job 0.3 %", within_job(0.003), finds=0.9),
    Noise("within a job 1 %", within_job(0.01), finds=0.9),
    Noise("within a job 2 %", within_job(0.02), finds=0.9),
    Noise("within a job 3 %", within_job(0.03), finds=0.9),
    Noise("within a job 4 %", within_job(0.04)),
    Noise("within a job 5 %", within_job(0.05)),
)

IRREGULAR = (
    Noise("2 %, one run in 20 slower by 5 to 40 %", outliers(0.02, 0.05)),
    Noise("2 %, one run in 10 slower by 5 to 40 %", outliers(0.02, 0.1)),
    Noise("layouts 5 % apart, either half of the time", two_layouts(0.05, 0.5)),
    Noise("layouts 10 % apart, either half of the time", two_layouts(0.1, 0.5)),
    Noise("layouts 10 % apart, slow one start in five", two_layouts(0.1, 0.2)),
    Noise("runs of 40 windows of 5 %, correlated by 0.9", windows(0.05, 0.9)),
    Noise("machine drifts by 5 %, correlated by 0.9", drifting(0.05, 0.9)),
)

NOISES = (*LOG_NORMAL, *IRREGULAR)

BEYOND = (
    Noise(
        "layouts 5 % apart, kept by a side for the whole job", side_layouts(0.05), is_promised=False
    ),
    Noise(
        "layouts 10 % apart, kept by a side for the whole job", side_layouts(0.1), is_promised=False
    ),
)
"""What no number of runs in one job can tell from a slower program."""
