"""Turns in which calls are counted, and what is told of those between."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.agent.inject.rlprof_agent.counted import call_costs, part_time
from rlprof.agent.inject.rlprof_agent.counted.calls import cost_of_a_call
from rlprof.agent.inject.rlprof_agent.counted.part_time import (
    AWAY,
    BRIEF,
    DIRECT,
    LOOKS,
    PartTime,
)

TURN_NS = 10_000_000
BRIEF_NS = 100.0


@pytest.fixture(autouse=True)
def _changes_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_time, "time", SimpleNamespace(thread_time_ns=lambda: 0))
    monkeypatch.setattr(call_costs, "_OFTEN", 1 << 62)


def steps_counter() -> Any:
    """As much of a ``Counter`` as turns use."""
    return SimpleNamespace(cell=[0], is_elsewhere=False, left=[0])


class Training:
    """Calls of a method, some of them steps, each of ``call_ns`` without us; ``PartTime`` sees to how they are counted."""

    def __init__(
        self, call_ns: float, *, searched: float = 0.0, size: int = 1, is_clear: bool = False
    ) -> None:
        self.call_ns, self.searched, self.size = call_ns, searched, size
        self.is_known = is_clear
        self.asks = 0.0
        """Part of the calls that ask who calls, where they are counted directly."""
        self.counter = steps_counter()
        self.calls = [0]
        self.way = LOOKS
        self.holds = False
        """Whether the program calls what counted first, wherever it looks by now."""
        self.made = 0
        self.extra_ns = 0.0
        self.all_ns = 0.0
        self.turns = PartTime(self.counter, self.calls, BRIEF_NS)
        self.turns.parts.append(self)
        self.turns.begin()
        self.turns.turn(0)

    def put(self, way: int) -> None:
        self.way = way

    def is_clear(self) -> bool:
        return self.is_known

    def heeding(self) -> float:
        return self.asks

    def longer_ns(self, way: int) -> float:
        """How much longer a call takes that is counted in a way."""
        if way in (AWAY, DIRECT):
            return call_costs.IN_BETWEEN * BRIEF_NS if way == DIRECT else 0.0
        in_a_row_ns = BRIEF_NS if way == BRIEF else call_costs.LOOKING * BRIEF_NS
        return call_costs.longer_ns(in_a_row_ns, self.call_ns)

    def works(self, turns: int, *, part: float = 1.0) -> None:
        """For so many turns, ``part`` of each in these calls."""
        for _ in range(turns):
            way = LOOKS if self.holds else self.way
            extra_ns = self.longer_ns(way)
            calls = round(part * TURN_NS / (self.call_ns + extra_ns))
            steps = round(calls * (1 - self.searched))
            self.made += self.size * steps
            self.extra_ns += calls * extra_ns
            self.all_ns += TURN_NS
            if way in (LOOKS, DIRECT):
                self.counter.cell[0] += self.size * steps
            if way != AWAY:
                self.calls[0] += calls
            self.turns.turn(TURN_NS)


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("searched", [0.0, 0.5])
@pytest.mark.parametrize("call_ns", [200.0, 1_000.0, 5_000.0, 20_000.0])
def test_counts_what_was_made_and_costs_one_part_in_a_hundred(call_ns, searched, size):
    training = Training(call_ns, searched=searched, size=size)

    training.works(3_000)
    assert training.extra_ns < 1.2 * part_time.FIRST_COST * training.all_ns
    training.extra_ns = training.all_ns = 0.0
    training.works(10_000)

    assert training.counter.cell[0] == pytest.approx(training.made, rel=0.02)
    assert training.extra_ns < 1.2 * part_time.MOST_COST * training.all_ns


def test_from_python_3_13_on_classes_are_not_changed_without_end(monkeypatch):
    monkeypatch.setattr(call_costs, "_OFTEN", 150)
    training = Training(1_000.0)

    training.works(2_000_000)  # Five and a half hours of CPU time.

    assert training.turns.changes < 900


def test_where_much_else_is_done_a_call_takes_longer():
    """A step of 100 µs, in which counting is out of the caches: all are counted no more."""
    training = Training(100_000.0)

    training.works(4_000)

    assert training.counter.cell[0] == pytest.approx(training.made, rel=0.03)
    assert training.extra_ns < 0.7 * training.longer_ns(LOOKS) * training.made


def test_where_looks_have_told_which_calls_are_steps_they_count_directly():
    """Exactly, and for less than a per cent."""
    training = Training(50_000.0, is_clear=True)

    training.works(1_000)

    assert training.way == DIRECT
    assert training.counter.cell[0] == training.made
    assert training.extra_ns < part_time.MOST_COST * training.all_ns


@pytest.mark.parametrize("asks", [0.0, 1.0])
def test_where_calls_would_ask_who_calls_they_do_not_count_directly(asks):
    """To ask takes more than to count: a third of the time of steps of 1.2 µs."""
    training = Training(10_000.0, is_clear=True)
    training.asks, ways = asks, set()

    for _ in range(100):
        training.works(4)
        ways.add(training.way)

    assert (DIRECT in ways) == (not asks)


def test_what_is_counted_directly_is_looked_at_anew_now_and_then():
    training = Training(50_000.0, is_clear=True)
    training.works(10)
    assert training.way == DIRECT

    training.is_known = False
    training.works(2 * part_time._DIRECT_TURNS)

    assert training.way != DIRECT


def test_slow_steps_are_all_counted():
    training = Training(500_000.0)

    training.works(1000)

    assert training.way == LOOKS
    assert training.counter.cell[0] == training.made


def test_what_comes_and_goes_is_counted_without_bias():
    """Updates between rollouts, of any length: nothing is told for the ones, and nothing is missing of the others."""
    told, made = 0, 0

    for seed in range(20):
        training, lengths = Training(1_000.0), random.Random(seed)
        for _ in range(100):
            training.works(lengths.randrange(1, 120))
            training.works(lengths.randrange(1, 120), part=0.0)
        told += training.counter.cell[0]
        made += training.made

    assert told == pytest.approx(made, rel=0.03)


def test_steps_that_become_a_smaller_part_of_the_calls_are_told_so():
    """An environment is wrapped once more in each episode, so that fewer and fewer of the calls are steps."""
    training = Training(1_000.0)
    for depth in range(1, 200):
        training.searched = 1 - 1 / depth
        training.works(9)

    assert training.counter.cell[0] < 2.5 * training.made  # Six times, by a mean of all looks.


def test_after_a_cut_all_are_counted_from_the_next_turn_on():
    training = Training(1_000.0)
    training.works(100)
    assert training.turns._cost > part_time.FIRST_COST

    training.turns.begin()

    assert training.way == LOOKS
    before = training.counter.cell[0]
    training.works(1)
    assert training.counter.cell[0] - before == round(TURN_NS / (1_000 + training.longer_ns(LOOKS)))


def test_what_other_threads_step_is_counted_in_full():
    training = Training(1_000.0)
    training.counter.is_elsewhere = True

    training.works(500)

    assert training.way == LOOKS
    assert training.counter.cell[0] == training.made


def test_what_the_program_holds_on_to_is_not_counted_twice():
    """``step = env.step``, taken in a turn that looks: it goes on to count in all of them."""
    training = Training(1_000.0)
    training.holds = True

    training.works(2_000)

    assert training.counter.cell[0] == pytest.approx(training.made, rel=0.03)


def test_nothing_is_told_of_calls_that_are_no_steps():
    training = Training(1_000.0, searched=1.0)

    training.works(500)

    assert training.counter.cell[0] == 0


def test_what_counting_costs_is_tried():
    calls = [7]

    assert 0 < cost_of_a_call(steps_counter(), calls) < 100_000
    assert calls == [7]


def test_what_counting_has_cost_is_told_by_the_number_of_calls(monkeypatch):
    monkeypatch.setattr(part_time, "_ever", [])
    calls = [0]
    part_time.PartTime(steps_counter(), calls, 100.0)

    assert part_time.cost_ns() == 0
    calls[0] = 50
    told = 50 * 100 * call_costs.LOOKING * call_costs.IN_BETWEEN
    assert part_time.cost_ns() == pytest.approx(told, abs=1)


def of_vector_environments(call_ns: float) -> Training:
    """All calls are made by vector environments, which count for themselves."""
    training = Training(call_ns, searched=1.0)
    training.turns.may_rest = True
    return training


def test_what_vector_environments_step_is_looked_at_seldom(monkeypatch):
    told: list[None] = []
    monkeypatch.setattr(part_time, "_tell_that_steps_are_estimated", lambda: told.append(None))
    training = of_vector_environments(5_000.0)

    training.works(10_000)

    assert training.counter.cell[0] == 0
    assert not told
    assert training.extra_ns < 1.5 * part_time.RESTING_COST * training.all_ns


def test_a_training_in_single_environments_after_evaluations_in_vector_ones_is_counted():
    training = of_vector_environments(5_000.0)
    training.works(1_000)

    training.searched = 0.0
    training.works(10_000)

    assert training.counter.cell[0] == pytest.approx(training.made, rel=0.03)
