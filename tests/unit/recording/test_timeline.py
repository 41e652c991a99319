from __future__ import annotations

import pytest

from rlprof.model.recording import Window
from rlprof.recording.timeline import (
    HEAD_US,
    SECOND,
    TAIL_WINDOWS,
    merged,
    plan_merge,
    window_length_us,
)


def windows_up_to(end_us: int) -> list[Window]:
    windows: list[Window] = []
    start = 0
    while start < end_us:
        end = min(end_us, start + window_length_us(start))
        windows.append(Window(len(windows), start, end))
        start = end
    return windows


def test_windows_are_finest_at_the_start_and_never_longer_than_a_second():
    lengths = [window_length_us(seconds * SECOND) for seconds in (0, 14, 30, 100, 100_000)]

    assert lengths == sorted(lengths)
    assert lengths[0] == SECOND // 10
    assert lengths[-1] == SECOND


def test_a_short_run_is_not_merged():
    windows = windows_up_to(HEAD_US)

    assert plan_merge(windows) == [[window.id] for window in windows]


@pytest.mark.parametrize("hours", [1, 10])
def test_a_long_run_has_as_many_windows_as_a_shorter_one(hours):
    windows = windows_up_to(hours * 3600 * SECOND)

    groups = plan_merge(windows)

    head = sum(window.end_us <= HEAD_US for window in windows)
    assert TAIL_WINDOWS / 2 <= len(groups) - head <= TAIL_WINDOWS
    result = merged(windows, groups)
    assert result[0].start_us == 0
    assert result[-1].end_us == windows[-1].end_us
