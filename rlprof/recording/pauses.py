"""Remarks on time in which the run, or rlprof alone, was stopped."""

from __future__ import annotations

from rlprof.model.recording import Note
from rlprof.recording.clock import Pause
from rlprof.units import duration


def paused_note(at_us: int, pause: Pause) -> Note:
    """``at_us`` is the run's own time at which it was stopped."""
    length_us = round((pause.until_s - pause.since_s) * 1e6)
    return Note(
        "info",
        "run-paused",
        f"The run was stopped for {duration(length_us)}, {duration(at_us)} after its start (by a signal, "
        "or a scheduler). That time is left out of all figures.",
    )


def unwatched_note(at_us: int, length_s: float) -> Note:
    return Note(
        "warning",
        "recorder-stopped",
        f"rlprof itself was stopped for {duration(round(length_s * 1e6))}, {duration(at_us)} after the run's "
        "start, while the training went on: of that time steps, CPU time and the stack probe alone tell.",
    )
