"""Algebra of the gate's intervals and of its decisions."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.gate.decision import DecisionSettings, RatePair, Verdict, decide, decide_unpaired
from rlprof.gate.statistics import paired_shift, unpaired_shift

ERROR = 0.05
logs = st.floats(-2, 2).map(lambda log: round(log, 3))
ratios = st.lists(logs, min_size=1, max_size=14)
rates = st.lists(logs.map(exp), min_size=1, max_size=12)


@given(ratios)
def test_the_middle_lies_between_the_bounds(values):
    shift = paired_shift(values, ERROR)

    assert shift.low <= shift.middle <= shift.high


@given(ratios)
def test_the_order_of_pairs_does_not_matter_to_an_interval(values):
    assert paired_shift(sorted(values), ERROR) == pytest.approx(paired_shift(values, ERROR))


@given(ratios)
def test_exchanged_sides_mirror_the_interval(values):
    shift, mirrored = paired_shift(values, ERROR), paired_shift([-value for value in values], ERROR)

    assert (mirrored.low, mirrored.middle, mirrored.high) == pytest.approx(
        (-shift.high, -shift.middle, -shift.low)
    )


@given(rates, rates)
def test_exchanged_sides_mirror_the_unpaired_interval(base, head):
    shift, mirrored = unpaired_shift(base, head, ERROR), unpaired_shift(head, base, ERROR)

    assert (mirrored.low, mirrored.middle, mirrored.high) == pytest.approx(
        (-shift.high, -shift.middle, -shift.low)
    )


@given(ratios, logs)
def test_a_slower_head_moves_the_interval_and_nothing_else(values, by):
    shift, moved = (
        paired_shift(values, ERROR),
        paired_shift([value + by for value in values], ERROR),
    )

    assert (moved.low, moved.middle, moved.high) == pytest.approx(
        (shift.low + by, shift.middle + by, shift.high + by)
    )
    assert moved.spread == pytest.approx(shift.spread)


@given(ratios)
def test_less_certainty_gives_no_wider_an_interval(values):
    sure, unsure = paired_shift(values, 0.01), paired_shift(values, 0.2)

    assert sure.low <= unsure.low
    assert unsure.high <= sure.high


@given(st.lists(logs, min_size=24, max_size=24), st.sampled_from([None, 0.01, 0.2]))
def test_every_check_ends_and_asks_only_while_it_is_undecided(values, min_effect):
    settings = DecisionSettings(min_effect=min_effect)
    wanted, more = 0, settings.min_pairs
    while more:
        wanted += more
        decision = decide([RatePair(1.0, exp(value)) for value in values[:wanted]], settings)
        more = decision.more
        assert not more or decision.state is Verdict.INCONCLUSIVE

    assert wanted <= 2 * settings.max_pairs
    assert decision.pairs == wanted
    assert decision == decide([RatePair(1.0, exp(value)) for value in values], settings)
    if decision.state is Verdict.REGRESSION:
        assert decision.ratio.high < 1 - decision.min_effect


@given(st.integers(5, 60), st.integers(0, 100))
def test_every_look_can_decide(first, more):
    settings = DecisionSettings(min_pairs=first, max_pairs=first + more)

    assert settings.looks[-1] == settings.max_pairs
    assert [*settings.looks] == sorted(set(settings.looks))
    assert paired_shift([-0.1] * settings.looks[0], settings.error).high < 0


@given(st.lists(logs, min_size=5, max_size=24))
def test_a_failure_is_beyond_the_effect_it_names(values):
    decision = decide([RatePair(1.0, exp(value)) for value in values], DecisionSettings())

    if decision.state is Verdict.REGRESSION:
        assert decision.ratio.median < 1 - decision.min_effect
        assert decision.is_confirming


@given(rates, st.lists(logs.map(exp), max_size=24))
def test_any_rates_are_decided_on_without_a_crash(base, head):
    decision = decide_unpaired(base, head, DecisionSettings())

    assert 0 < decision.mde <= 1
    assert decision.more >= 0
