"""The rate over repeated runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.profile import Interval
from rlprof.pace.rates import pooled


def test_two_runs_that_agree_keep_a_range_of_their_own():
    one = Interval(100, 80, 125)

    both = pooled([one, one])

    assert both.median == 100
    assert 80 < both.low < 90
    assert 110 < both.high < 125


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=9))
def test_a_pooled_range_holds_every_run(rates):
    middle, low, high = pooled([Interval(sps, sps * 0.9, sps * 1.1) for sps in rates])

    assert low <= min(rates) <= middle <= max(rates) <= high
