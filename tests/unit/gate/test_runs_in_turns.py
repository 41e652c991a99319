"""What runs come to that had only a part of the time."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from rlprof.errors import MeasureError
from rlprof.gate.measured_run import MeasuredRun, SteadyWindow
from rlprof.gate.program import Side
from rlprof.gate.runner import PARTS, in_own_turns
from rlprof.gate.turns import Turn, TurnsTaken
from tests.check_factory import a_measured_run


def windows(start: float, end: float, *, steps: float) -> tuple[SteadyWindow, ...]:
    """Of a second each, with so many steps."""
    return tuple(
        SteadyWindow(start + at, start + at + 1, steps) for at in range(round(end - start))
    )


def turns(first: float, last: float, *, length: float = 0.1, ready: float = 1.0) -> TurnsTaken:
    """Every other stretch of so many seconds, the first of them from ``first`` on; ``ready`` is the part of
    each in which it waited for nothing but a CPU.
    """
    count = round((last - first) / (2 * length))
    starts = (first + 2 * length * number for number in range(count))
    return TurnsTaken(tuple(Turn(start, start + length, ready * length) for start in starts))


def a_run(side: Side, steady: tuple[SteadyWindow, ...], **changes: object) -> MeasuredRun:
    return replace(a_measured_run(side, sps=50.0, **changes), steady=steady)


def rate(run: MeasuredRun) -> float:
    assert run.sps is not None
    return run.sps.median


BASE = a_run(Side.BASE, windows(2, 10, steps=50)), turns(0.0, 10.0)
HEAD = a_run(Side.HEAD, windows(2, 10, steps=40)), turns(0.1, 10.1)


def test_rates_are_those_of_a_runs_own_turns():
    base, head = in_own_turns(BASE, HEAD)

    assert rate(base) == pytest.approx(100, rel=0.01)
    assert rate(head) == pytest.approx(80, rel=0.01)


def test_a_range_stays_as_wide_as_it_was():
    base, _ = in_own_turns(BASE, HEAD)

    assert base.sps is not None
    assert (base.sps.low / base.sps.median, base.sps.high / base.sps.median) == pytest.approx(
        (0.99, 1.01)
    )


def test_only_the_time_counts_in_which_both_were_steady():
    # The machine was twice as fast before head was steady, and after base had ended.
    fast = windows(0, 4, steps=100) + windows(4, 10, steps=50)
    late = windows(4, 10, steps=50) + windows(10, 14, steps=100)

    base, head = in_own_turns(
        (a_run(Side.BASE, fast), turns(0.0, 10.0)), (a_run(Side.HEAD, late), turns(0.1, 14.1))
    )

    assert rate(head) == pytest.approx(rate(base), rel=0.01)


def test_parts_of_the_time_have_rates_of_their_own():
    # Slower and slower.
    slowing = tuple(SteadyWindow(start, start + 1, steps=100 - 5 * start) for start in range(2, 12))

    base, head = in_own_turns(
        (a_run(Side.BASE, windows(2, 12, steps=50)), turns(0.0, 12.0)),
        (a_run(Side.HEAD, slowing), turns(0.1, 12.1)),
    )

    assert base.sps_of_parts == pytest.approx((100.0,) * PARTS, rel=0.01)
    assert head.sps_of_parts == pytest.approx((175, 155, 135, 115, 95), rel=0.01)


def test_a_part_without_a_window_has_no_rate():
    base, _ = in_own_turns(
        (a_run(Side.BASE, windows(2, 5, steps=50)), turns(0.0, 12.0)),
        (a_run(Side.HEAD, windows(2, 5, steps=50)), turns(0.1, 12.1)),
    )

    assert base.sps_of_parts.count(None) == PARTS - 3


def test_turns_of_unequal_length_are_no_advantage():
    patient = TurnsTaken(tuple(Turn(at * 0.4, at * 0.4 + 0.1, 0.1) for at in range(25)))

    base, head = in_own_turns(BASE, (a_run(Side.HEAD, windows(2, 10, steps=25)), patient))

    assert rate(head) == pytest.approx(rate(base), rel=0.02)


def test_waiting_is_what_is_not_ready():
    _, head = in_own_turns(BASE, (HEAD[0], turns(0.1, 10.1, ready=0.75)))

    assert head.waiting == pytest.approx(0.25)


def test_processes_that_are_ready_all_at_once_wait_for_nothing():
    _, head = in_own_turns(BASE, (HEAD[0], turns(0.1, 10.1, ready=3.0)))

    assert head.waiting == pytest.approx(0)


def test_waits_that_are_longer_than_turns_cannot_be_compared():
    busy, asleep = turns(0.1, 10.1).turns, turns(0.1, 10.1, ready=0.01).turns
    mixed = TurnsTaken((*busy[:25], *asleep[25:]))

    with pytest.raises(MeasureError, match="head waits for longer than its turns") as error:
        in_own_turns(BASE, (HEAD[0], mixed))

    assert error.value.slug == "turns-too-short"


@pytest.mark.parametrize(("idle", "is_refused"), [(5, False), (6, True)])
def test_one_in_twenty_turns_may_pass_in_waiting_alone(idle, is_refused):
    steady = windows(0, 200, steps=50)
    first, second = turns(0.0, 200.0, length=1.0).turns, turns(1.0, 201.0, length=1.0).turns
    waiting = (turn._replace(ready_s=0.0) for turn in second[:idle])
    mixed = TurnsTaken((*waiting, *second[idle:]))
    refused = pytest.raises(MeasureError, match="head waits") if is_refused else nullcontext()

    # Of head 100 turns lie in the time in which both are steady.
    assert len(mixed.turns) == 100
    with refused:
        in_own_turns(
            (a_run(Side.BASE, steady), TurnsTaken(first)), (a_run(Side.HEAD, steady), mixed)
        )


def test_a_gpu_takes_no_turns():
    used = a_run(Side.BASE, BASE[0].steady, counters={"gpu_syncs": 0.5, "h2d_bytes": 0.0})

    with pytest.raises(MeasureError, match=r"base uses a GPU \(gpu_syncs\)") as error:
        in_own_turns((used, BASE[1]), HEAD)

    assert error.value.slug == "turns-on-gpu"


@pytest.mark.parametrize("steady", [(), windows(20, 24, steps=50)])
def test_runs_that_were_never_steady_together_cannot_be_compared(steady):
    late = a_run(Side.HEAD, steady), turns(0.1, 24.1)

    with pytest.raises(MeasureError) as error:
        in_own_turns(BASE, late)

    assert error.value.slug == "no-steady-rate"
