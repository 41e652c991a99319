from __future__ import annotations

import pytest

from rlprof.recording.sampling_budget import (
    ALL_SAMPLERS_SHARE,
    FINE_INTERVAL_US,
    SAMPLER_SHARE,
    SETTLED_PROBE_US,
    SLOWEST_US,
    SamplingBudget,
)
from rlprof.recording.settings import DEFAULT_INTERVAL_US
from rlprof.recording.timeline import SETTLED_US

LOOK_US = 100
"""CPU time of a look in these tests."""


def settled(budget: SamplingBudget, *, live: int, look_us: float = LOOK_US) -> int:
    """The interval on which a run of ``live`` processes settles."""
    interval = budget.first_interval_us(live)
    for _ in range(5):
        interval = budget.interval_us(
            interval, share=look_us / interval, live=live, now_us=SETTLED_US
        )
    return interval


def test_a_young_process_is_looked_at_finely_while_cores_are_free():
    budget = SamplingBudget(None, usable_cores=2)

    assert budget.first_interval_us(1) == FINE_INTERVAL_US
    assert budget.first_interval_us(2) == DEFAULT_INTERVAL_US
    assert budget.first_interval_us(8) == 4 * DEFAULT_INTERVAL_US


@pytest.mark.parametrize("look_us", [20, 100, 300])
def test_a_settled_sampler_keeps_to_its_share_of_a_core(look_us):
    interval = settled(SamplingBudget(None, usable_cores=16), live=1, look_us=look_us)

    assert look_us / interval <= SAMPLER_SHARE * 1.5


@pytest.mark.parametrize("live", [2, 4, 8])
def test_all_settled_samplers_keep_to_their_share_of_all_cores(live):
    interval = settled(SamplingBudget(None, usable_cores=2), live=live)

    assert live * LOOK_US / interval <= 2 * ALL_SAMPLERS_SHARE * 1.5


def test_however_dear_a_look_is_there_are_two_a_second():
    assert settled(SamplingBudget(None, usable_cores=2), live=64, look_us=5000) == SLOWEST_US


def test_a_small_change_is_not_worth_a_new_sampler():
    budget = SamplingBudget(None, usable_cores=4)

    assert budget.interval_us(40_000, share=0.0040, live=1, now_us=SETTLED_US) == 40_000


def test_nothing_is_looked_at_more_often_than_before():
    budget = SamplingBudget(None, usable_cores=4)

    assert budget.interval_us(200_000, share=0.00001, live=1, now_us=SETTLED_US) == 200_000


def test_an_interval_that_was_asked_for_is_kept_whatever_it_costs():
    budget = SamplingBudget(2_000, usable_cores=2)

    assert budget.first_interval_us(50) == 2_000
    assert budget.interval_us(2_000, share=0.5, live=50, now_us=SETTLED_US) == 2_000
    assert budget.probe_interval_us(SETTLED_US) == 2_000


def test_probes_look_less_often_once_settled():
    budget = SamplingBudget(None, usable_cores=2)

    assert budget.probe_interval_us(SETTLED_US - 1) == DEFAULT_INTERVAL_US
    assert budget.probe_interval_us(SETTLED_US) == SETTLED_PROBE_US
