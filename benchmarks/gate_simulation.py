"""The rule of ``rlprof check`` on many simulated checks at once.

The same as ``rlprof/gate/decision.py``, a row of pairs for each check, so that ten thousand take a
second; ``tests/unit/gate/test_simulated_decision.py`` holds the two against each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rlprof.gate.decision import MIN_EFFECT, NOISE_FACTOR, DecisionSettings
from rlprof.gate.statistics import (
    EFFICIENCY,
    SMALL_SAMPLE,
    TO_SIGMA,
    ranks_to_leave,
    signed_rank_law,
)

Array = Any

PASS, REGRESSION, INCONCLUSIVE = range(3)

SLOWER, NOT_SLOWER, UNCLEAR = range(3)


class Checks(NamedTuple):
    """How many checks went, one entry for each."""

    state: Array
    pairs: Array


class Shifts(NamedTuple):
    low: Array
    high: Array
    spread: Array


def simulate(ratios: Array, settings: DecisionSettings) -> Checks:
    """``ratios`` holds twice ``max_pairs`` logarithms of head over base for each check."""
    answer, end = _series(ratios, settings)
    state = np.where(answer == NOT_SLOWER, PASS, INCONCLUSIVE)
    pairs = end.copy()
    for length in settings.looks:
        (suspects,) = np.nonzero((answer == SLOWER) & (end == length))
        if not len(suspects):
            continue
        again, more = _series(ratios[suspects], settings, after=length)
        pairs[suspects] += more
        state[suspects] = np.where(again == SLOWER, REGRESSION, INCONCLUSIVE)
        for rest in settings.looks:
            refuted = suspects[(again != SLOWER) & (more == rest)]
            if len(refuted):
                shifts = _shifts(ratios[refuted, : length + rest], settings.error)
                state[refuted] = np.where(_excludes(shifts, settings), PASS, INCONCLUSIVE)
    return Checks(state, pairs)


def _series(ratios: Array, settings: DecisionSettings, *, after: int = 0) -> tuple[Array, Array]:
    """The answers of the pairs from the one numbered ``after``, and how many of them were looked at."""
    answer = np.full(len(ratios), UNCLEAR)
    end = np.full(len(ratios), settings.max_pairs)
    is_open = np.ones(len(ratios), bool)
    for look in settings.looks:
        fresh = ratios[:, after : after + look]
        passes = _excludes(_shifts(fresh, settings.error), settings)
        fails = ~passes & _is_beyond(_shifts(ratios[:, : after + look], settings.error), settings)
        if after:
            fails &= _is_beyond(_shifts(fresh, settings.confirming_error), settings)
        for found, which in ((NOT_SLOWER, passes), (SLOWER, fails)):
            now = is_open & which
            answer[now], end[now] = found, look
        is_open &= ~(passes | fails)
    return answer, end


def _shifts(ratios: Array, error: float) -> Shifts:
    count = ratios.shape[1]
    low, high = signed_rank_bounds(ratios, error)
    distance = np.abs(ratios - np.median(ratios, axis=1, keepdims=True)).mean(axis=1)
    noise = TO_SIGMA * distance * count / (count - SMALL_SAMPLE)
    return Shifts(low, high, noise / np.sqrt(EFFICIENCY * count))


def signed_rank_bounds(ratios: Array, error: float) -> tuple[Array, Array]:
    """Both ends of the interval of each row."""
    count = ratios.shape[1]
    leave = ranks_to_leave(signed_rank_law(count), error)
    if not leave:
        infinite = np.full(len(ratios), np.inf)
        return -infinite, infinite
    one, other = np.triu_indices(count)
    averages = np.sort((ratios[:, one] + ratios[:, other]) / 2, axis=1)
    return averages[:, leave - 1], averages[:, -leave]


def _excludes(shifts: Shifts, settings: DecisionSettings) -> Array:
    asked = MIN_EFFECT if settings.min_effect is None else settings.min_effect
    return np.exp(shifts.low) > 1 - asked


def _is_beyond(shifts: Shifts, settings: DecisionSettings) -> Array:
    return np.exp(shifts.high) < 1 - _needed(shifts, settings)


def _needed(shifts: Shifts, settings: DecisionSettings) -> Array:
    if settings.min_effect is not None:
        return settings.min_effect
    return np.maximum(MIN_EFFECT, 1 - np.exp(-NOISE_FACTOR * shifts.spread))
