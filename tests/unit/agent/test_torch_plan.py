"""When windows of torch's profiler begin and how long they may be; no torch, no waiting: the clock is
the test's.
"""

from __future__ import annotations

import pytest

from rlprof.agent.inject.rlprof_agent import layout
from rlprof.agent.inject.rlprof_agent.torch_plan import RETRY_NS, WindowPlan

MS = 1_000_000
S = 1000 * MS


class Training:
    """Updates every ``gap_ms``; ``burst`` of them, where given, with ``rollout_ms`` in between.

    Under the profiler they take twice as long, and a window ``after`` times what it has recorded to
    stop and to export; with stacks twice, and three times, that. These are the made-up costs.
    """

    def __init__(
        self,
        *,
        gap_ms: float = 2,
        after: float = 1.5,
        start_ms: float = 1,
        burst: int = 0,
        rollout_ms: float = 0,
        always: bool = False,
    ) -> None:
        self.plan = WindowPlan(always=always)
        self._after = after
        self._start_ms = start_ms
        self.taken_ns = 0
        self.now = 100 * S
        self.updates = 0
        self._gap_ms = gap_ms
        self._burst = burst
        self._rollout_ms = rollout_ms

    def next_window(self, *, within_s: float = 120) -> tuple[float, int, int] | None:
        """(seconds since the first update, kind, updates so far) of the next that begins."""
        begin = self.now
        while self.now < begin + within_s * S:
            self.updates += 1
            self.plan.updated(self.now)
            kind = self.plan.due_at_update(self.now)
            if kind is not None and self.plan.longest_ns(kind, self.now):
                return (self.now - 100 * S) / S, kind, self.updates
            is_last = self._burst and self.updates % self._burst == 0
            self.now += round((self._rollout_ms if is_last else self._gap_ms) * MS)
        return None

    def takes(self, kind: int, steps: int = 10) -> float:
        """Take the window that is due; its length in ms, all included."""
        longest = self.plan.longest_ns(kind, self.now)
        is_with_stacks = kind == layout.WINDOW_STACKS
        each = round(self._gap_ms * MS) * (4 if is_with_stacks else 2)
        updates = min(steps, longest // each)
        recorded = each * updates if updates else longest
        after = round(recorded * self._after * (3 if is_with_stacks else 1))
        start = round(self._start_ms * MS)
        self.plan.taken(kind, updates=updates, start_ns=start, recorded_ns=recorded, after_ns=after)
        whole = start + recorded + after
        self.now += whole
        self.taken_ns += whole
        return whole / MS

    def take_all(self) -> list[tuple[float, int, float]]:
        """(seconds since the first update, kind, ms) of all windows within some minutes."""
        seen = []
        while (window := self.next_window(within_s=100)) is not None:
            at_s, kind, _ = window
            seen.append((at_s, kind, self.takes(kind)))
            assert self.taken_ns <= (self.now - 100 * S) * 0.0101
        return seen


def test_the_first_window_waits_for_the_warm_up():
    quick, slow = Training(gap_ms=1), Training(gap_ms=1000)
    assert quick.next_window() == (5.0, layout.WINDOW_PLAIN, 5001)
    assert slow.next_window() == (19.0, layout.WINDOW_PLAIN, 20)


def test_it_may_sleep_until_a_window_is_due():
    training = Training()
    training.plan.updated(100 * S)
    assert training.plan.asleep_until() == 105 * S
    training.takes(layout.WINDOW_PLAIN)
    assert training.plan.asleep_until() == 115 * S
    training.takes(layout.WINDOW_STACKS)
    assert training.plan.asleep_until() == 130 * S


def test_a_window_that_could_not_begin_is_due_again_after_a_while():
    training = Training()
    training.next_window()
    plan, now = training.plan, training.now
    plan.refused(now)

    assert plan.asleep_until() == now + RETRY_NS
    assert plan.due_at_update(now + RETRY_NS - 1) is None
    assert plan.due_at_update(now + RETRY_NS) == layout.WINDOW_PLAIN


def test_always_does_not_wait_after_one_that_could_not_begin():
    training = Training(always=True)
    training.next_window()
    training.plan.refused(training.now)

    assert training.plan.due_at_update(training.now) == layout.WINDOW_PLAIN


def test_there_are_three_and_the_second_has_stacks():
    windows = Training().take_all()

    assert [kind for _, kind, _ in windows] == [
        layout.WINDOW_PLAIN,
        layout.WINDOW_STACKS,
        layout.WINDOW_PLAIN,
    ]
    assert [at_s for at_s, _, _ in windows] == pytest.approx([5, 15, 30], abs=0.5)


def test_the_first_records_little_for_it_tells_what_the_others_cost():
    training = Training()
    training.next_window()

    assert training.plan.longest_ns(layout.WINDOW_PLAIN, training.now) == 10 * MS


@pytest.mark.parametrize("gap_ms", [1, 5, 30, 100])
@pytest.mark.parametrize("after", [0.05, 2.5])
def test_all_together_take_a_hundredth_of_the_run_and_none_takes_half_a_second(gap_ms, after):
    windows = Training(gap_ms=gap_ms, after=after).take_all()

    assert len(windows) == 3
    assert all(length_ms <= 500 for _, _, length_ms in windows)


def test_a_dear_start_puts_the_next_one_off_until_it_is_a_hundredth_of_the_time():
    training = Training(start_ms=400)
    training.next_window()
    training.takes(layout.WINDOW_PLAIN)
    window = training.next_window()

    assert window is not None
    assert window[0] == pytest.approx(72.5, abs=1)


def test_the_first_with_a_whole_update_is_plain_for_it_tells_how_long_one_takes():
    windows = Training(gap_ms=50, after=0.1).take_all()

    assert [kind for _, kind, _ in windows] == [
        layout.WINDOW_PLAIN,
        layout.WINDOW_PLAIN,
        layout.WINDOW_STACKS,
    ]
    assert windows[1][2] > 100


def test_of_updates_longer_than_any_window_there_are_parts_once_half_a_second_is_little():
    windows = Training(gap_ms=2000, after=0.01).take_all()

    assert windows[1][0] >= 50
    assert all(400 <= length_ms <= 500 for _, _, length_ms in windows[1:])


def test_windows_that_would_cost_too_much_are_not_taken():
    training = Training()
    training.next_window()
    training.takes(layout.WINDOW_PLAIN)

    assert training.plan.longest_ns(layout.WINDOW_STACKS, training.now) == 0


def test_the_third_begins_before_the_end_of_a_burst_so_that_the_rollout_is_in_it():
    training = Training(gap_ms=2, burst=40, rollout_ms=600)
    for kind in (layout.WINDOW_PLAIN, layout.WINDOW_STACKS):
        training.next_window()
        training.takes(kind)
    window = training.next_window()

    assert window is not None
    _, kind, updates = window
    assert kind == layout.WINDOW_ROLLOUT
    assert updates % 40 == 38
    assert training.plan.longest_ns(kind, training.now) >= 50 * MS


def test_updates_without_bursts_have_no_rollout_window():
    windows = Training(gap_ms=3).take_all()

    assert windows[2][1] == layout.WINDOW_PLAIN


def test_always_begins_at_once():
    training = Training(always=True)
    assert training.next_window() == (0.004, layout.WINDOW_PLAIN, 3)


def test_always_spends_more_than_a_hundredth_but_never_half_a_second_at_once():
    training = Training(gap_ms=30, after=2.5, always=True)
    lengths_ms = []
    while (window := training.next_window()) is not None:
        lengths_ms.append(training.takes(window[1]))

    assert len(lengths_ms) == 3
    assert sum(lengths_ms) > 300
    assert all(length_ms <= 500 for length_ms in lengths_ms)


def test_a_program_that_never_updates_has_timed_windows():
    plan = WindowPlan(always=False)
    assert plan.due_without_updates(100 * S) is None
    assert plan.due_without_updates(109 * S) is None
    assert plan.due_without_updates(110 * S) == layout.WINDOW_TIMED
    assert plan.longest_ns(layout.WINDOW_TIMED, 110 * S) == 10 * MS
    plan.taken(layout.WINDOW_TIMED, updates=0, start_ns=MS, recorded_ns=10 * MS, after_ns=20 * MS)
    assert plan.due_without_updates(111 * S) is None
    assert plan.due_without_updates(120 * S) == layout.WINDOW_TIMED
    assert plan.longest_ns(layout.WINDOW_TIMED, 120 * S) == 56 * MS


def test_the_first_update_ends_timed_windows():
    plan = WindowPlan(always=False)
    plan.due_without_updates(100 * S)
    plan.updated(101 * S)
    assert plan.due_without_updates(200 * S) is None
