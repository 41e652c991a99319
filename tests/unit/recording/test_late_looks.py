from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlprof.model.recording import Frame
from rlprof.recording.combine import ThreadWindow
from rlprof.recording.late_looks import LateLooks
from rlprof.recording.stacks import StackTable

LEARN, KEEP = Frame("train.py", "learn", 9), Frame("train.py", "learn", 10)
SEARCH, OTHER = Frame("train.py", "search", 3), Frame("train.py", "other", 5)

ON_THE_CALL = (KEEP,)
IN_THE_CALLED = (KEEP, SEARCH)
BEFORE_IT = (LEARN,)
ELSEWHERE = (OTHER,)

Stack = tuple[Frame, ...]
Times = Mapping[Stack, float]


def placed(
    *,
    eye: Times,
    clock: Times,
    torn: float = 0.0,
    queued: float = 0.0,
    sleeps: float = 1.0,
    windows: int = 40,
) -> dict[Stack, float]:
    """Where the eye's time of a window goes after ``windows`` of a second; times in seconds."""
    stacks = StackTable()
    nodes = {stack: stacks.node(stack) for stack in (*eye, *clock)}
    seen = {nodes[stack]: 1e6 * seconds for stack, seconds in eye.items()}
    whole = {nodes[stack]: round(1e6 * seconds) for stack, seconds in clock.items()}
    window = ThreadWindow(
        busy=whole,
        eye=seen,
        torn_us=round(1e6 * torn),
        on_cpu_us=round(sum(seen.values())) if queued else None,
        run_queue_us=round(1e6 * queued),
        sleeps=sleeps,
    )
    late = LateLooks(stacks)
    told: Mapping[int, float] = {}
    for _ in range(windows):
        told = late.placed(window)
    back = {node: stack for stack, node in nodes.items()}
    return {back[node]: round(us / 1e6, 3) for node, us in told.items()}


def test_time_on_a_call_goes_to_what_it_called_where_the_clock_has_it():
    told = placed(
        eye={ON_THE_CALL: 0.8, BEFORE_IT: 0.2}, clock={IN_THE_CALLED: 0.7, BEFORE_IT: 0.2}, torn=0.1
    )

    assert told == pytest.approx({IN_THE_CALLED: 0.778, ON_THE_CALL: 0.022, BEFORE_IT: 0.2})


def test_time_goes_to_an_earlier_line_of_the_same_function():
    told = placed(eye={ON_THE_CALL: 0.8, BEFORE_IT: 0.2}, clock={ON_THE_CALL: 0.3, BEFORE_IT: 0.7})

    assert told == pytest.approx({ON_THE_CALL: 0.3, BEFORE_IT: 0.7})


CALLERS = [Frame("train.py", "train", line) for line in range(20, 60)]
LAST, FIRST, NEXT = (Frame("board.py", "winner", line) for line in (47, 42, 43))


def from_each_caller(shares: Mapping[Stack, float]) -> Times:
    """One second of what 40 lines call."""
    return {
        (caller, *stack): share / len(CALLERS)
        for caller in CALLERS
        for stack, share in shares.items()
    }


def of_lines(told: Times) -> dict[Frame, float]:
    return {
        line: sum(us for stack, us in told.items() if stack[-1] == line)
        for line in {stack[-1] for stack in told}
    }


def test_the_callers_of_a_function_tell_together_where_its_time_goes():
    told = placed(
        eye=from_each_caller({(LAST,): 0.6, (FIRST,): 0.3, (NEXT,): 0.1}),
        clock=from_each_caller({(LAST,): 0.1, (FIRST,): 0.5, (NEXT,): 0.4}),
    )

    assert of_lines(told) == pytest.approx({LAST: 0.1, FIRST: 0.5, NEXT: 0.4}, abs=0.03)


def test_time_on_a_call_goes_to_the_operators_that_end_what_it_calls():
    told = placed(
        eye=from_each_caller({(KEEP, FIRST): 0.3, (KEEP,): 0.7}),
        clock=from_each_caller({(KEEP, FIRST): 0.3, (KEEP, LAST): 0.6, (KEEP,): 0.1}),
    )

    assert of_lines(told) == pytest.approx({KEEP: 0.1, FIRST: 0.3, LAST: 0.6}, abs=0.03)


def test_what_all_callers_together_differ_by_little_is_luck():
    seen = from_each_caller({(LAST,): 0.5, (FIRST,): 0.5})

    told = placed(eye=seen, clock=from_each_caller({(LAST,): 0.485, (FIRST,): 0.515}))

    assert told == pytest.approx(seen, abs=0.001)


def test_no_time_leaves_the_function_that_it_was_seen_in():
    told = placed(eye={ON_THE_CALL: 0.8, ELSEWHERE: 0.2}, clock={ON_THE_CALL: 0.2, ELSEWHERE: 0.8})

    assert told == {ON_THE_CALL: 0.8, ELSEWHERE: 0.2}


def test_nothing_goes_up_to_a_caller_which_a_clock_sees_too_often():
    told = placed(
        eye={IN_THE_CALLED: 0.9, ON_THE_CALL: 0.1}, clock={IN_THE_CALLED: 0.4, ON_THE_CALL: 0.6}
    )

    assert told == {IN_THE_CALLED: 0.9, ON_THE_CALL: 0.1}


def test_torn_stacks_are_no_evidence():
    told = placed(
        eye={ON_THE_CALL: 0.6, BEFORE_IT: 0.4}, clock={ON_THE_CALL: 0.1, BEFORE_IT: 0.4}, torn=0.5
    )

    assert told == {ON_THE_CALL: 0.6, BEFORE_IT: 0.4}


def test_where_all_stacks_are_torn_nothing_moves():
    told = placed(eye={ON_THE_CALL: 1.0}, clock={BEFORE_IT: 0.0}, torn=1.0)

    assert told == {ON_THE_CALL: 1.0}


def test_a_small_difference_is_luck():
    told = placed(eye={ON_THE_CALL: 1.0}, clock={ON_THE_CALL: 0.985, IN_THE_CALLED: 0.015})

    assert told == {ON_THE_CALL: 1.0}


def test_windows_that_the_eye_does_not_explain_are_not_compared():
    told = placed(eye={ON_THE_CALL: 0.5}, clock={IN_THE_CALLED: 1.0})

    assert told == {ON_THE_CALL: 0.5}


def test_nor_are_those_in_which_it_waited_for_a_cpu_where_it_woke_up():
    told = placed(eye={ON_THE_CALL: 1.0}, clock={IN_THE_CALLED: 1.0}, queued=0.2)

    assert told == {ON_THE_CALL: 1.0}


def test_those_in_which_its_cpu_was_taken_from_it_are():
    told = placed(
        eye={ON_THE_CALL: 0.2, BEFORE_IT: 0.05},
        clock={IN_THE_CALLED: 0.8, BEFORE_IT: 0.2},
        queued=0.75,
        sleeps=0.05,
    )

    assert told == pytest.approx({IN_THE_CALLED: 0.2, BEFORE_IT: 0.05})


def test_of_a_cpu_that_it_shares_a_difference_is_luck_for_longer():
    eye, clock = {ON_THE_CALL: 0.25}, {ON_THE_CALL: 0.93, IN_THE_CALLED: 0.07}

    assert placed(eye=eye, clock=clock, queued=0.75, sleeps=0.0) == {ON_THE_CALL: 0.25}


def test_little_is_no_evidence():
    told = placed(eye={ON_THE_CALL: 0.04}, clock={IN_THE_CALLED: 0.04}, windows=10)

    assert told == {ON_THE_CALL: 0.04}


def test_it_follows_what_a_program_does_now():
    stacks = StackTable()
    call, called = stacks.node(ON_THE_CALL), stacks.node(IN_THE_CALLED)
    late = LateLooks(stacks)
    for _ in range(40):
        late.placed(ThreadWindow(eye={call: 1e6}, busy={called: 1_000_000}))
    for _ in range(400):
        told = late.placed(ThreadWindow(eye={call: 1e6}, busy={call: 1_000_000}))

    assert told == {call: 1e6}


STACKS = (ON_THE_CALL, IN_THE_CALLED, BEFORE_IT, ELSEWHERE)
SECONDS = st.floats(0.01, 1.0)


@given(
    st.fixed_dictionaries(dict.fromkeys(STACKS, SECONDS)),
    st.dictionaries(st.sampled_from(STACKS), SECONDS, min_size=1),
    st.floats(0.0, 0.5),
)
def test_the_sum_stays_as_it_is(eye: Times, clock: Times, torn: float):
    told = placed(eye=eye, clock=clock, torn=torn)

    assert sum(told.values()) == pytest.approx(sum(eye.values()), abs=0.003)
    assert all(seconds >= 0 for seconds in told.values())
