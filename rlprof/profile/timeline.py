"""Scales that lay what main threads do side by side onto the run's own timeline."""

from __future__ import annotations

from rlprof.model.recording import Recording
from rlprof.pace.times import Times
from rlprof.profile.fold import Timeline, TimeTree


def timeline_of(recording: Recording, times: Times, places: bytearray) -> Timeline:
    """A window's length goes to those that work in it, a process that steps already included; waits
    get what is left. A process alone thus keeps its time as it is.
    """
    count = len(recording.windows)
    active, idle = [0] * count, [0] * count
    for thread in recording.threads:
        if not thread.is_main:
            continue
        for window in range(count):
            cell = times.at(thread.id, window)
            works = times.busy_us[cell] + times.waiting_import_us[cell]
            active[window] += works
            if places[cell] == TimeTree.START_UP:
                idle[window] += times.idle_us[cell] - times.waiting_import_us[cell]
    scales = [
        _share_out(window.length_us, active[window.id], idle[window.id])
        for window in recording.windows
    ]
    return Timeline([scale for scale, _ in scales], [scale for _, scale in scales])


def _share_out(length: int, active: int, idle: int) -> tuple[float, float]:
    """Scales of active and of idle time so that together they do not exceed ``length``."""
    if active >= length:
        return (length / active if active else 1.0), 0.0
    left = length - active
    return 1.0, (min(1.0, left / idle) if idle else 1.0)
