"""How a training is ended: as its user would, then less politely, or some time after its first step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rlprof.recording import ending
from rlprof.recording.ending import KILL_AFTER_S, LOOK_S, TERMINATE_AFTER_S, EndAfter, TrainingEnd


class Bench:
    """A training that may count, and notes how it is asked to end."""

    def __init__(self) -> None:
        self.now_s = 500.0
        self.counts_from_s = float("inf")
        self.asked: list[tuple[str, float]] = []

    def has_counted(self) -> bool:
        return self.now_s >= self.counts_from_s

    def interrupt_target(self) -> None:
        self.asked.append(("interrupt", self.now_s))

    def terminate_target(self) -> None:
        self.asked.append(("terminate", self.now_s))

    def kill_all(self) -> None:
        self.asked.append(("kill", self.now_s))

    def passes(self, seconds: float, turn: Any) -> None:
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += turn(self)


@pytest.fixture
def bench(monkeypatch) -> Bench:
    bench = Bench()
    monkeypatch.setattr(ending, "time", SimpleNamespace(monotonic=lambda: bench.now_s))
    return bench


def test_it_is_asked_once_in_each_way(bench):
    end = TrainingEnd()
    assert not end.has_begun

    bench.passes(60, end.go_on)

    assert end.has_begun
    assert [how for how, _ in bench.asked] == ["interrupt", "terminate", "kill"]
    begun_s = bench.asked[0][1]
    assert [at_s - begun_s for _, at_s in bench.asked] == pytest.approx(
        [0.0, TERMINATE_AFTER_S, KILL_AFTER_S], abs=LOOK_S
    )


def test_one_that_is_late_asks_in_the_right_order(bench):
    """As of a recorder that was stopped for some time."""
    end = TrainingEnd()
    end.go_on(bench)  # type: ignore[arg-type]
    bench.now_s += 100

    end.go_on(bench)  # type: ignore[arg-type]

    assert [how for how, _ in bench.asked] == ["interrupt", "terminate", "kill"]


def test_it_is_ended_some_time_after_its_first_count(bench):
    bench.counts_from_s = bench.now_s + 30
    ends = EndAfter(16.0)

    bench.passes(60, ends.turn)

    assert ends.has_ended_it
    assert bench.asked[0] == ("interrupt", pytest.approx(500 + 30 + 16, abs=2 * LOOK_S))


def test_one_that_ends_before_has_ended_by_itself(bench):
    bench.counts_from_s = bench.now_s
    ends = EndAfter(16.0)

    bench.passes(15, ends.turn)
    ends.target_ended(bench)  # type: ignore[arg-type]

    assert not ends.has_ended_it
    assert bench.asked == []


def test_one_that_counts_nothing_is_not_ended(bench):
    ends = EndAfter(16.0)

    bench.passes(600, ends.turn)

    assert not ends.has_ended_it
    assert bench.asked == []
