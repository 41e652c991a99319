"""How long slots last, by the rhythm of a program and by whether its processes feed each other."""

from __future__ import annotations

import pytest

from rlprof.experiments.rates import Rhythm
from rlprof.experiments.slot_lengths import (
    FED_SLOT_S,
    LONGEST_TRY_S,
    MOST_BOTH_SLOTS,
    SHORTEST_SLOT_S,
    UNITS,
    slot_lengths,
)

QUICK = Rhythm(0.001, 0.0)
SLOW = Rhythm(0.19, 0.0)
IN_CYCLES = Rhythm(3.0, 0.4)


def test_a_slot_of_one_process_is_short_and_believed_at_once():
    lengths = slot_lengths(QUICK, 1)

    assert lengths.slot_s == lengths.trusted_s == SHORTEST_SLOT_S


def test_where_processes_feed_each_other_short_slots_are_compared_before_they_are_believed():
    lengths = slot_lengths(QUICK, 2)

    assert (lengths.slot_s, lengths.trusted_s) == (FED_SLOT_S / 2, FED_SLOT_S)
    assert lengths.lengthens


@pytest.mark.parametrize("processes", [1, 2])
def test_slots_of_slow_units_get_the_time_for_longer_ones(processes: int):
    lengths = slot_lengths(SLOW, processes)

    assert lengths.slot_s == pytest.approx(UNITS * SLOW.unit_s)
    assert lengths.longest_try_s == MOST_BOTH_SLOTS * lengths.slot_s > LONGEST_TRY_S


def test_whole_cycles_are_long_already():
    lengths = slot_lengths(IN_CYCLES, 2)

    assert not lengths.lengthens
    assert lengths.trusted_s == lengths.slot_s
