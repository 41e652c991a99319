from __future__ import annotations

import pytest

from rlprof.source.timed_waits import paced_sleeps, timed_waits


@pytest.mark.parametrize(
    ("line", "is_timed"),
    [
        pytest.param("while not stop.wait(0.02): move()", True, id="a pace"),
        pytest.param("stop.wait(timeout=self.interval)", True, id="a time that is not known"),
        pytest.param("stop.wait(timeout=1.0)", False, id="looks around once a second"),
        pytest.param("stop.wait()", False, id="until it is told"),
        pytest.param("stop.wait(None)", False, id="no time-out"),
        pytest.param("cond.wait_for(lambda: box.full, 0.01)", False, id="until something is true"),
        pytest.param("time.sleep(0.02)", False, id="a sleep"),
    ],
)
def test_waits_that_a_short_time_out_ends(line, is_timed):
    assert (timed_waits(f"{line}\n") == {1}) is is_timed


def test_a_source_that_cannot_be_read_has_none():
    assert timed_waits("while not stop.wait(0.02)\n") == frozenset()


@pytest.mark.parametrize(
    ("line", "is_paced"),
    [
        pytest.param("time.sleep(0.05)", False, id="a nap"),
        pytest.param("time.sleep(NAP_S)", False, id="a length of its own"),
        pytest.param("time.sleep(due - time.monotonic())", True, id="until it is due"),
        pytest.param("time.sleep(max(0, left))", True, id="what a clock left"),
        pytest.param("rate.sleep()", True, id="somebody else knows how long"),
        pytest.param("if left > 0: time.sleep(0.001)", True, id="while it is early"),
        pytest.param("while time.time() < due: time.sleep(0.001)", True, id="looks at the time"),
    ],
)
def test_sleeps_that_keep_a_pace(line, is_paced):
    text = f"began = time.monotonic()\nleft = 0.02 - began\n{line}\n"

    assert (3 in paced_sleeps(text)) is is_paced
