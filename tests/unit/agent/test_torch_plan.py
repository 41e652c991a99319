"""When windows of torch's profiler begin; no torch, no waiting: the clock is the test's."""

from __future__ import annotations

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.torch_plan import WindowPlan

MS = 1_000_000
S = 1000 * MS


class Training:
    """Updates every ``gap_ms``; ``burst`` of them, where given, with ``rollout_ms`` in between."""

    def __init__(
        self, *, gap_ms: float = 10, burst: int = 0, rollout_ms: float = 0, always: bool = False
    ) -> None:
        self.plan = WindowPlan(always=always)
        self.now = 100 * S
        self.updates = 0
        self._gap_ms = gap_ms
        self._burst = burst
        self._rollout_ms = rollout_ms

    def next_window(self, *, within_s: float = 120) -> tuple[float, int, int] | None:
        """(seconds since the first update, kind, updates so far) of the next that is due."""
        begin = self.now
        while self.now < begin + within_s * S:
            self.updates += 1
            self.plan.updated(self.now)
            kind = self.plan.due_at_update(self.now)
            if kind is not None:
                return (self.now - 100 * S) / S, kind, self.updates
            is_last = self._burst and self.updates % self._burst == 0
            self.now += round((self._rollout_ms if is_last else self._gap_ms) * MS)
        return None

    def takes(self, cost_ms: float) -> None:
        self.now += round(cost_ms * MS)
        self.plan.taken(round(cost_ms * MS))


def test_the_first_window_waits_for_the_warm_up():
    quick, slow = Training(gap_ms=1), Training(gap_ms=1000)
    assert quick.next_window() == (5.0, layout.WINDOW_PLAIN, 5001)
    assert slow.next_window() == (19.0, layout.WINDOW_PLAIN, 20)


def test_it_may_sleep_until_a_window_is_due_but_for_the_last():
    training = Training()
    training.plan.updated(100 * S)
    assert training.plan.asleep_until() == 105 * S
    training.plan.taken(20 * MS)
    assert training.plan.asleep_until() == 115 * S
    training.plan.taken(20 * MS)
    assert training.plan.asleep_until() == 0


def test_updates_that_it_slept_through_count_for_the_warm_up():
    plan = WindowPlan(always=False)
    plan.updated(100 * S)
    for update in range(1, 21):
        plan.passed(100 * S + 200 * MS * update)
    plan.updated(105 * S)

    assert plan.due_at_update(105 * S) == layout.WINDOW_PLAIN


def test_there_are_three_and_the_second_has_stacks():
    training = Training()
    seen = []
    while (window := training.next_window()) is not None:
        training.takes(20)
        seen.append(window[:2])

    assert [kind for _, kind in seen] == [
        layout.WINDOW_PLAIN,
        layout.WINDOW_STACKS,
        layout.WINDOW_PLAIN,
    ]
    assert [at for at, _ in seen] == pytest.approx([5, 15, 30], abs=0.1)


def test_a_dear_window_puts_the_next_one_off_until_it_is_a_hundredth_of_the_time():
    training = Training()
    training.next_window()
    training.takes(400)
    window = training.next_window()

    assert window is not None
    assert window[0] == pytest.approx(40, abs=0.5)


def test_the_third_begins_before_the_end_of_a_burst_so_that_the_rollout_is_in_it():
    training = Training(gap_ms=10, burst=40, rollout_ms=600)
    for _ in range(2):
        training.next_window()
        training.takes(20)
    window = training.next_window()

    assert window is not None
    _, kind, updates = window
    assert kind == layout.WINDOW_ROLLOUT
    assert updates % 40 == 38


def test_updates_without_bursts_have_no_rollout_window():
    training = Training(gap_ms=3)
    for _ in range(2):
        training.next_window()
        training.takes(20)
    window = training.next_window()

    assert window is not None
    assert window[1] == layout.WINDOW_PLAIN


def test_always_begins_at_once():
    training = Training(always=True)
    assert training.next_window() == (0.02, layout.WINDOW_PLAIN, 3)


def test_a_program_that_never_updates_has_timed_windows():
    plan = WindowPlan(always=False)
    assert plan.due_without_updates(100 * S) is None
    assert plan.due_without_updates(109 * S) is None
    assert plan.due_without_updates(110 * S) == layout.WINDOW_TIMED
    plan.taken(20 * MS)
    assert plan.due_without_updates(111 * S) is None
    assert plan.due_without_updates(120 * S) == layout.WINDOW_TIMED


def test_the_first_update_ends_timed_windows():
    plan = WindowPlan(always=False)
    plan.due_without_updates(100 * S)
    plan.updated(101 * S)
    assert plan.due_without_updates(200 * S) is None
