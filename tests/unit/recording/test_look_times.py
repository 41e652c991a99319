"""When samplers are read and the process tree is looked through."""

from __future__ import annotations

import pytest

from rlprof.recording.looks.look_times import (
    READ_US,
    SCAN_US,
    SETTLED_READ_US,
    SETTLED_SCAN_US,
    LookTimes,
)
from rlprof.recording.timeline import SETTLED_US


def test_the_first_looks_are_due_at_once():
    looks = LookTimes()

    assert looks.is_read_due(0)
    assert looks.is_scan_due(0)
    assert not looks.is_read_due(0)
    assert not looks.is_scan_due(0)


@pytest.mark.parametrize(
    ("now_us", "read_us", "scan_us"),
    [(0, READ_US, SCAN_US), (SETTLED_US, SETTLED_READ_US, SETTLED_SCAN_US)],
)
def test_the_next_ones_come_later_once_it_has_settled(now_us, read_us, scan_us):
    looks = LookTimes()
    looks.is_read_due(now_us)
    looks.is_scan_due(now_us)

    assert looks.next_read_us == now_us + read_us
    assert not looks.is_read_due(now_us + read_us - 1)
    assert looks.is_read_due(now_us + read_us)
    assert not looks.is_scan_due(now_us + scan_us - 1)
    assert looks.is_scan_due(now_us + scan_us)
