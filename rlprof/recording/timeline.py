"""Cut a run into windows, and keep their number bounded however long it lasts."""

from __future__ import annotations

from collections.abc import Sequence

from rlprof.model.recording import Window

SECOND = 1_000_000

HEAD_US = 15 * SECOND
"""The start of a run keeps its finest windows for good: start-up and warm-up are found there."""

FINEST_US = 3 * SECOND
"""Short windows at first: imports take tenths of a second, and start-up ends between windows."""

SETTLED_US = 30 * SECOND
"""From then on everything is looked at less often: 3 000 looks at 10 ms have told a share to within a point,
and a window costs more to write than its place in time tells."""

MAX_WINDOWS = 240
"""More than these and neighbours are merged."""

TAIL_WINDOWS = 45
"""As many windows as merging leaves after the head."""

MIN_TAIL_WINDOWS = 12

MAX_SAMPLE_ROWS = 120_000
"""More rows than these and the windows are merged further: about 4 MB of run file."""


def window_length_us(elapsed_us: int) -> int:
    """Return how long the window that begins at ``elapsed_us`` should be; never more than a second,
    since a killed rlprof loses the window at hand.
    """
    if elapsed_us < FINEST_US:
        return SECOND // 10
    if elapsed_us < HEAD_US:
        return SECOND // 4
    return SECOND // 2 if elapsed_us < SETTLED_US else SECOND


def plan_merge(windows: Sequence[Window], tail_windows: int = TAIL_WINDOWS) -> list[list[int]]:
    """Groups of neighbouring ids, in order, that leave about ``tail_windows`` after the head."""
    head = [[window.id] for window in windows if window.end_us <= HEAD_US]
    tail = windows[len(head) :]
    if not tail:
        return head
    wanted = (tail[-1].end_us - tail[0].start_us) / tail_windows
    groups: list[list[int]] = []
    start = 0
    for window in tail:
        # A merge that would overshoot the wanted length by more than half begins a new group.
        if groups and window.end_us - start <= 1.5 * wanted:
            groups[-1].append(window.id)
        else:
            groups.append([window.id])
            start = window.start_us
    return head + groups


def merged(windows: Sequence[Window], groups: Sequence[Sequence[int]]) -> list[Window]:
    """The windows after merging by ``groups``, with new ids."""
    return [
        Window(number, windows[group[0]].start_us, windows[group[-1]].end_us)
        for number, group in enumerate(groups)
    ]
