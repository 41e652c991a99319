"""One treatment in processes that are made up: armed, switched in turns, refused, withdrawn, and never come to."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import pytest

from rlprof.experiments.rates import CountLog, Rhythm, StepTotal
from rlprof.experiments.trying import (
    ARMED_WITHIN_S,
    UNREACHED_S,
    TreatmentTry,
    TryEnd,
    leave,
)
from rlprof.experiments.turns import SlotTurns
from rlprof.model.experiment import TryOutcome
from rlprof.recording.mailboxes.treatment_desk import TreatmentState
from tests.treated_processes import Never, Process, agents

POLL_S = 0.004


class Training:
    """Steps at 1000 a second, and at more where the treatment is on in a process."""

    def __init__(self, *processes: Process, saved: float = 0.5, rate: float = 1000.0) -> None:
        self.processes = processes
        self.log = CountLog()
        self.now_s = 100.0
        self._saved, self._rate = saved, rate
        self._made = 0.0
        self.was_on: list[bool] = []

    def tries(
        self, *, ends_after_s: float = 60.0, latest_after_s: float | None = None, **more: Any
    ) -> tuple[TryEnd, TreatmentTry]:
        settings = {"turns": SlotTurns(0.4), "leaves_queue_out": False} | more
        begun_s = self.now_s
        trying = TreatmentTry(
            3,
            b"parts",
            Rhythm(0.001, 0.0),
            ends_s=begun_s + ends_after_s,
            latest_s=begun_s + (latest_after_s or ends_after_s),
            begun_s=begun_s,
            **settings,
        )
        while self.now_s < begun_s + (latest_after_s or ends_after_s) + 10:
            self.now_s += POLL_S
            alive = [each for each in self.processes if self.now_s - 100.0 >= each.starts_s]
            for process in alive:
                process.lives(self.now_s)
            on = [each for each in alive if each.state is TreatmentState.ON]
            share = len(on) / max(1, len(alive))
            self.was_on.append(bool(on))
            self._made += POLL_S * self._rate * (1 + share * (1 / (1 - self._saved) - 1))
            self.log.add(StepTotal(self.now_s, int(self._made)))
            ended = trying.turn(self.now_s, int(self.now_s * 1e9), agents(alive), self.log)
            if ended is not None:
                return ended, trying
        raise AssertionError("it never ends")


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_what_it_saves_is_measured(processes):
    training = Training(*[Process() for _ in range(processes)])

    ended, trying = training.tries()

    assert ended == TryEnd(TryOutcome.MEASURED)
    assert trying.turns.measured is not None
    assert trying.turns.measured.median == pytest.approx(0.5, abs=0.02)
    assert trying.turns.longest_s == 0.8
    for process in training.processes:
        # Off and on by turns, not once.
        assert process.reached > 100


def test_a_treatment_that_saves_nothing_is_soon_known_to():
    ended, trying = Training(Process(), saved=0.0).tries()

    assert ended == TryEnd(TryOutcome.MEASURED)
    assert trying.turns.measured is not None
    assert trying.turns.measured.high < 0.02


@pytest.mark.parametrize(("latest_after_s", "pairs"), [(7.0, 3), (30.0, 5)])
def test_it_goes_on_until_there_are_pairs_enough_but_not_for_ever(latest_after_s, pairs):
    ended, trying = Training(Process()).tries(
        turns=SlotTurns(1.0, lengthens=False), ends_after_s=7.0, latest_after_s=latest_after_s
    )

    assert trying.turns.pairs == pairs
    assert ended.outcome is (TryOutcome.MEASURED if pairs == 5 else TryOutcome.NOT_CLEAR)


def test_it_is_told_again_and_again_that_rlprof_is_there():
    training = Training(Process())

    training.tries()

    (process,) = training.processes
    gaps = [
        later - earlier for earlier, later in zip(process.beats, process.beats[1:], strict=False)
    ]
    assert max(gaps) < 10_000_000


def test_nothing_begins_before_all_have_armed_it():
    training = Training(Process(), Process(delay_s=2.0))

    training.tries(ends_after_s=30)

    first = training.was_on.index(True)
    assert first * POLL_S > 2.0


def test_those_that_sleep_are_not_waited_for_without_end():
    training = Training(Process(), Never())

    ended, trying = training.tries()

    assert ended.outcome is TryOutcome.MEASURED
    assert trying.turns.measured is not None
    assert trying.turns.measured.low > 0
    assert training.was_on.index(True) * POLL_S >= ARMED_WITHIN_S


def test_a_refusal_of_one_ends_it():
    training = Training(
        Process(), Process(arms_as=TreatmentState.REFUSED, why="the file has changed")
    )

    ended, trying = training.tries()

    assert ended == TryEnd(TryOutcome.REFUSED, "the file has changed")
    assert not any(training.was_on)
    assert trying.turns.pairs == 0


def test_a_failure_of_one_ends_it():
    training = Training(Process(), Process(fails_s=103.0))

    ended, _ = training.tries()

    assert ended == TryEnd(TryOutcome.WITHDRAWN, "ValueError: of ours")


def test_one_that_has_nothing_of_it_does_not_matter():
    training = Training(Process(), Process(arms_as=TreatmentState.ABSENT))

    ended, trying = training.tries()

    assert ended.outcome is TryOutcome.MEASURED
    assert trying.turns.measured is not None
    assert trying.turns.measured.low > 0.2


NOT_LOADED = "no process has loaded what it would change"
UNHEARD = (
    "no process answered: main threads hear of a switch between two calls, and not while they wait"
)


@pytest.mark.parametrize(
    ("processes", "why"),
    [
        ([Process(arms_as=TreatmentState.ABSENT)], NOT_LOADED),
        ([Never()], UNHEARD),
        ([], UNHEARD),
    ],
)
def test_where_no_process_has_it_it_is_not_reached(processes, why):
    training = Training(*processes)

    ended, _ = training.tries()

    assert ended == TryEnd(TryOutcome.NOT_REACHED, why)
    assert training.now_s - 100.0 == pytest.approx(ARMED_WITHIN_S, abs=0.1)


def test_a_place_that_nobody_comes_to_is_given_up():
    training = Training(Process(reaches_from_s=inf))

    ended, _ = training.tries()

    assert ended.outcome is TryOutcome.NOT_REACHED
    assert re.fullmatch(r"it had nothing to treat in the 3\.\d s that it was on", ended.why)
    assert UNREACHED_S < training.now_s - 100.0 < 3 * UNREACHED_S


def test_a_place_that_somebody_comes_to_every_few_seconds_is_waited_for():
    ended, _ = Training(Process(reaches_from_s=104.0)).tries()

    assert ended.outcome is TryOutcome.MEASURED


def test_one_of_several_that_comes_there_is_enough():
    ended, _ = Training(Process(), Process(reaches_from_s=inf)).tries()

    assert ended.outcome is TryOutcome.MEASURED


def test_a_process_that_comes_late_is_treated_too():
    late = Process(starts_s=4.0)
    training = Training(Process(), late, saved=0.3)

    training.tries()

    assert late.asked == 3
    assert late.reached > 0


def test_a_late_process_that_refuses_ends_it():
    late = Process(starts_s=3.0, arms_as=TreatmentState.REFUSED, why="it is a generator")

    ended, _ = Training(Process(), late).tries()

    assert ended == TryEnd(TryOutcome.REFUSED, "it is a generator")


def test_one_that_is_slow_to_obey_delays_no_slot_for_ever():
    """As one whose main thread waits for the others."""
    ended, trying = Training(Process(), Process(delay_s=0.3)).tries()

    assert ended.outcome is TryOutcome.MEASURED
    assert trying.turns.measured is not None
    assert trying.turns.measured.low > 0


def test_its_time_ends_it_and_what_is_wide_is_not_clear():
    ended, trying = Training(Process()).tries(ends_after_s=3.0)

    assert ended == TryEnd(TryOutcome.NOT_CLEAR)
    assert trying.turns.measured is None


def test_its_time_ends_it_and_what_is_narrow_is_measured():
    """Five pairs of short slots, and no time for long ones."""
    ended, trying = Training(Process()).tries(ends_after_s=5.5)

    assert ended == TryEnd(TryOutcome.MEASURED)
    assert trying.turns.longest_s == 0.4


def test_where_nothing_is_counted_it_ends_with_its_time():
    ended, trying = Training(Process(), rate=0.0).tries(ends_after_s=20.0)

    assert ended == TryEnd(TryOutcome.NOT_CLEAR)
    assert trying.turns.pairs == 0


def test_nothing_is_left_in_any_process():
    processes = [Process(), Process()]
    Training(*processes).tries()

    leave(agents(processes))

    assert [(each.asked, each.state) for each in processes] == [(0, TreatmentState.NOT_HEARD)] * 2


class Crowded(Training):
    """Has no core in two of five stretches of 0.3 s."""

    def tries(self, **more: Any) -> tuple[TryEnd, TreatmentTry]:
        self.log = _LogWithoutCore()
        return super().tries(**more)


class _LogWithoutCore(CountLog):
    """Takes away what is made in these stretches."""

    def __init__(self) -> None:
        super().__init__()
        self._queued_s = 0.0
        self._made = self._lost = 0

    def add(self, count: StepTotal) -> None:
        made, self._made = count.total - self._made, count.total
        if int(count.at_s / 0.3) % 5 in (0, 3):
            self._queued_s += POLL_S
            self._lost += made
        super().add(StepTotal(count.at_s, count.total - self._lost, self._queued_s))


def test_time_without_a_core_is_left_out_where_that_is_asked_for():
    ended, trying = Crowded(Process()).tries(leaves_queue_out=True)

    assert ended == TryEnd(TryOutcome.MEASURED)
    assert trying.turns.measured is not None
    assert trying.turns.measured.median == pytest.approx(0.5, abs=0.03)


def test_else_it_is_noise():
    _, trying = Crowded(Process()).tries(leaves_queue_out=False)

    measured = trying.turns.measured
    assert measured is None or measured.high - measured.low > 0.05


class Cycles(Training):
    """Rollouts of a tenth of a second and updates of nine tenths, of which the treatment saves half, or all."""

    speed_up = 2.0

    def tries(self, **_: Any) -> tuple[TryEnd, TreatmentTry]:
        begun_s = self.now_s
        rhythm = Rhythm(1.0, 0.4)
        trying = TreatmentTry(
            3,
            b"parts",
            rhythm,
            turns=SlotTurns(0.5, lengthens=False),
            leaves_queue_out=False,
            ends_s=begun_s + 60,
            latest_s=begun_s + 60,
            begun_s=begun_s,
        )
        (process,) = self.processes
        phase, left_s, total = "rollout", 0.1, 0
        while True:
            self.now_s += POLL_S
            process.lives(self.now_s)
            is_on = process.state is TreatmentState.ON
            left_s -= POLL_S * (self.speed_up if is_on and phase == "update" else 1.0)
            if phase == "rollout":
                total += 4
                self.log.add(StepTotal(self.now_s, total))
            if left_s <= 0:
                phase, left_s = ("update", 0.9) if phase == "rollout" else ("rollout", 0.1)
            ended = trying.turn(self.now_s, int(self.now_s * 1e9), agents([process]), self.log)
            if ended is not None:
                return ended, trying


def test_slots_of_a_program_with_cycles_end_with_one():
    ended, trying = Cycles(Process()).tries()

    assert trying.turns.measured is not None, ended
    # Half of nine tenths.
    assert trying.turns.measured.median == pytest.approx(0.45, abs=0.02)


class WithoutUpdates(Cycles):
    speed_up = 1000.0


def test_where_the_treatment_takes_the_pauses_away_any_count_ends_a_slot():
    ended, trying = WithoutUpdates(Process()).tries()

    assert ended == TryEnd(TryOutcome.MEASURED)
    assert trying.turns.measured is not None
    # Updates take nine tenths.
    assert trying.turns.measured.median == pytest.approx(0.9, abs=0.02)
