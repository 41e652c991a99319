"""The growth of the rate with the number of workers: Amdahl's law and the Universal Scalability Law.

    X(n) = λ n / (1 + σ (n - 1) + κ n (n - 1))

λ is the rate of one worker, σ the contention (the part of the work that is done in one place, one
worker at a time), κ the coherency (what each worker pays for each other one). Amdahl's law (1967)
is κ = 0; the whole is due to Gunther, "Guerrilla Capacity Planning" (2007), chapter 5.

Turned over, n / X(n) = 1/λ + σ/λ (n - 1) + κ/λ n (n - 1) is linear in its three coefficients, so
the fit is a closed form. Residuals are relative: the scatter of rates grows with the rates.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import hypot, inf, log, sqrt
from typing import Final, NamedTuple

from rlprof.model.profile import Interval
from rlprof.units import Z_95

MIN_COUNTS_AMDAHL: Final = 2
MIN_COUNTS_USL: Final = 3
"""As many worker counts as a law has parameters: fewer leave it open."""

RESAMPLES: Final = 200
"""Refits behind the interval of a parameter: its ends then move by a tenth of its width."""

_SEED: Final = 1
"""The same measurements give the same report."""


class Point(NamedTuple):
    """The rate measured with ``workers`` (steps per second)."""

    workers: int
    sps: Interval


@dataclass(frozen=True, slots=True)
class Law:
    """One curve X(n)."""

    per_worker_sps: float
    """λ: the rate of one worker alone."""
    contention: float
    """σ, 0 to 1."""
    coherency: float
    """κ, 0 or more."""

    def sps(self, workers: float) -> float:
        return self.per_worker_sps * workers / self.cost(workers)

    def cost(self, workers: float) -> float:
        """Return how much longer a step takes a worker among ``workers`` than alone."""
        return 1 + self.contention_cost(workers) + self.coherency_cost(workers)

    def contention_cost(self, workers: float) -> float:
        return self.contention * (workers - 1)

    def coherency_cost(self, workers: float) -> float:
        return self.coherency * workers * (workers - 1)

    @property
    def peak(self) -> float:
        """The number of workers from which on more of them slow training; may be infinite."""
        if self.coherency <= 0:
            return inf
        return max(1.0, sqrt((1 - self.contention) / self.coherency))

    @property
    def ceiling_sps(self) -> float:
        """The highest rate with any number of workers; may be infinite."""
        if self.coherency > 0:
            return self.sps(self.peak)
        return self.per_worker_sps / self.contention if self.contention > 0 else inf


@dataclass(frozen=True, slots=True)
class Fit:
    """A law, and what its points leave open."""

    law: Law
    contention: Interval
    """σ with the range that the scatter of the rates leaves."""
    coherency: Interval
    error: float
    """Typical distance of the points from the curve, relative (root mean square)."""


def fit_amdahl(points: Sequence[Point]) -> Fit | None:
    """Amdahl's law through ``points``; None with fewer than two worker counts."""
    return _fit(points, _amdahl, MIN_COUNTS_AMDAHL)


def fit_usl(points: Sequence[Point]) -> Fit | None:
    """The Universal Scalability Law through ``points``; None with fewer than three worker counts."""
    return _fit(points, _usl, MIN_COUNTS_USL)


class _RatePoint(NamedTuple):
    workers: int
    sps: float


_Column = Callable[[int], float]


def _fit(
    points: Sequence[Point], law_of: Callable[[Sequence[_RatePoint]], Law], min_counts: int
) -> Fit | None:
    if len({point.workers for point in points}) < min_counts:
        return None
    rates = [_RatePoint(point.workers, point.sps.median) for point in points]
    law = law_of(rates)
    generator = random.Random(_SEED)
    others = [law_of(_resampled(points, generator)) for _ in range(RESAMPLES)]
    return Fit(
        law=law,
        contention=_interval(law.contention, [other.contention for other in others]),
        coherency=_interval(law.coherency, [other.coherency for other in others]),
        error=sqrt(sum((law.sps(n) / sps - 1) ** 2 for n, sps in rates) / len(rates)),
    )


def _resampled(points: Sequence[Point], generator: random.Random) -> list[_RatePoint]:
    """Rates that might have been measured as well, by the intervals of those that were."""
    return [
        _RatePoint(n, sps.median * generator.lognormvariate(0.0, relative_error(sps)))
        for n, sps in points
    ]


def relative_error(sps: Interval) -> float:
    """Standard error of the logarithm of a rate above zero, from its 95 % interval."""
    low = max(sps.low, sps.median / 10)
    return log(max(sps.high, low) / low) / (2 * Z_95)


def differ(one: Interval, other: Interval) -> bool:
    """Tell whether two rates are further apart than their intervals explain (95 %).

    Sharper than asking whether the intervals overlap, which calls too many rates alike.
    """
    error = hypot(relative_error(one), relative_error(other))
    return abs(log(one.median / other.median)) > Z_95 * error


def _interval(median: float, values: list[float]) -> Interval:
    values.sort()
    tail = round(0.025 * len(values))
    return Interval(median, min(median, values[tail]), max(median, values[-1 - tail]))


# --- least squares under limits -------------------------------------------------------------


def _one(_n: int) -> float:
    return 1.0


def _others(n: int) -> float:
    return n - 1.0


def _pairs(n: int) -> float:
    return n * (n - 1.0)


def _all(n: int) -> float:
    """σ = 1: the coefficients of 1 and of n - 1 are the same."""
    return float(n)


def _amdahl(rates: Sequence[_RatePoint]) -> Law:
    return _best_law(rates, [(_one, _others), (_one,), (_all,)])


def _usl(rates: Sequence[_RatePoint]) -> Law:
    limits = [(_one, _others, _pairs), (_one, _others), (_one, _pairs), (_all, _pairs)]
    return _best_law(rates, [*limits, (_one,), (_all,)])


def _best_law(rates: Sequence[_RatePoint], forms: Sequence[tuple[_Column, ...]]) -> Law:
    """The least squares under 0 ≤ σ ≤ 1 and κ ≥ 0.

    The problem is convex, so its solution is the free one on some face of the allowed region; the
    faces are few, and ``forms`` names them all.
    """
    best: tuple[float, Law] | None = None
    for form in forms:
        coefficients = _least_squares(rates, form)
        law = None if coefficients is None else _law(dict(zip(form, coefficients, strict=True)))
        if law is None:
            continue
        residual = sum((law.cost(n) * sps / (law.per_worker_sps * n) - 1) ** 2 for n, sps in rates)
        if best is None or residual < best[0]:
            best = residual, law
    assert best is not None, "the form of one coefficient always has a solution"
    return best[1]


def _law(coefficients: dict[_Column, float]) -> Law | None:
    """The law of these coefficients of n / X; None when it is outside of the limits."""
    full = coefficients.get(_all, 0.0)
    one = coefficients.get(_one, 0.0) + full
    others = coefficients.get(_others, 0.0) + full
    pairs = coefficients.get(_pairs, 0.0)
    if one <= 0 or not 0 <= others <= one or pairs < 0:
        return None
    return Law(1 / one, others / one, pairs / one)


def _least_squares(rates: Sequence[_RatePoint], form: Sequence[_Column]) -> list[float] | None:
    """Coefficients of ``form`` with the least relative residuals of n / X; None if undetermined."""
    rows = [[column(n) * sps / n for column in form] for n, sps in rates]
    size = len(form)
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)] + [sum(row[i] for row in rows)]
        for i in range(size)
    ]
    return _solve(matrix)


def _solve(matrix: list[list[float]]) -> list[float] | None:
    """Gauss-Jordan elimination of an augmented matrix, in place; None when it is singular."""
    size = len(matrix)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        scale = matrix[column][column]
        if scale == 0:
            return None
        matrix[column] = [value / scale for value in matrix[column]]
        for row in range(size):
            if row != column:
                factor = matrix[row][column]
                matrix[row] = [
                    value - factor * above
                    for value, above in zip(matrix[row], matrix[column], strict=True)
                ]
    return [row[-1] for row in matrix]
