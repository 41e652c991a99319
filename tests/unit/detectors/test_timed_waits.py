from __future__ import annotations

import pytest

from rlprof.detectors.recognisers.naps import timed_waits


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
