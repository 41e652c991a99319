from __future__ import annotations

from rlprof.model.recording import Frame
from rlprof.recording.clock_trust import ClockTrust
from rlprof.recording.stacks import StackTable

MAIN, WRITE = Frame("train.py", "main", 9), Frame("train.py", "write", 3)
SECOND_US = 1_000_000


def judged(*, on_the_call: float, torn: float = 0.0) -> bool:
    """Of a thread whose eye sees nine tenths in what ``main`` calls; the clock has ``on_the_call`` of its time there."""
    stacks = StackTable()
    main, write = stacks.node((MAIN,)), stacks.node((MAIN, WRITE))
    trust = ClockTrust(stacks.callers)
    for _ in range(4):
        trust.saw({main: 0.1 * SECOND_US, write: 0.9 * SECOND_US})
        clock = {main: round(on_the_call * SECOND_US), write: round((1 - on_the_call) * SECOND_US)}
        trust.heard(clock, round(torn * SECOND_US), SECOND_US)
    return trust.holds


def test_a_clock_that_agrees_with_the_eye_is_believed():
    assert judged(on_the_call=0.1)


def test_a_clock_whose_stacks_end_at_calls_is_not():
    assert not judged(on_the_call=0.25)


def test_nor_is_one_whose_stacks_are_torn():
    assert not judged(on_the_call=0.1, torn=0.03)


def test_little_is_no_evidence():
    stacks = StackTable()
    trust = ClockTrust(stacks.callers)
    trust.saw({stacks.node((MAIN, WRITE)): 1000.0})
    trust.heard({stacks.node((MAIN,)): 1000}, 0, 1000)

    assert trust.holds
