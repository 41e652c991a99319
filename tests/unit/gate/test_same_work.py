"""Whether base and head do the same work: the same unit, and as many steps or nearly so."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from rlprof.errors import MeasureError
from rlprof.gate.comparability import check_same_steps, check_same_unit

RATES = (1000.0, 1001.0, 999.0)


def test_what_a_baseline_says_of_its_unit_cannot_begin_a_line():
    with pytest.raises(MeasureError) as refused:
        check_same_unit(("steps\n::error::", "rlprof.step"), ("steps", "a\rb"))

    assert refused.value.slug == "different-units"
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("steps", "is_same"), [(19_610, True), (20_400, True), (19_600, False), (20_410, False)]
)
def test_two_in_a_hundred_steps_may_be_a_last_rollout(steps, is_same):
    refused = nullcontext() if is_same else pytest.raises(MeasureError, match="20 000 steps")

    with refused:
        check_same_steps([20_000.0] * 3, [float(steps)] * 3, (RATES, RATES))


@pytest.mark.parametrize(("rate", "is_same"), [(760.0, True), (880.0, False)])
def test_another_rate_explains_other_steps_where_it_differs_likewise(rate, is_same):
    refused = nullcontext() if is_same else pytest.raises(MeasureError, match="head 15 000")

    with refused:
        check_same_steps([20_000.0] * 3, [15_000.0] * 3, (RATES, (rate,) * 3))
