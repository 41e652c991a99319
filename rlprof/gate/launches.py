"""Launches of kernels in a counted run, from the first window of torch's profiler in each process."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import Final

from rlprof.device.blocking import is_launch
from rlprof.device.steps import optimizer_step_ends
from rlprof.device.torch_windows import UPDATE_KINDS, WindowView, view_windows
from rlprof.errors import MeasureError
from rlprof.model.counters import UPDATES
from rlprof.model.recording import Recording

FIRST: Final = 0
"""The window that begins after a number of updates, and so at the same one in every run; later ones begin
by the clock."""

_UNSEEN: Final = 0.01
"""Part of the updates that may be made where no window was taken: by a process that only tries something."""

_FATES: Final = {
    "given-up": "a profiler of its own was on",
    "failed": "the trace could not be taken or written",
    "lost": "the run ended before the profiler did",
}


def launches_of(recording: Recording, run: str) -> float:
    """Of all updates of ``run``. Raises :class:`MeasureError` where they cannot be told."""
    updates: dict[int, float] = defaultdict(float)
    for counter in recording.counters:
        if counter.name == UPDATES:
            updates[counter.process] += counter.value
    made = sum(updates.values())
    if not made:
        raise _unseen(run, "it made no optimizer steps that torch tells of")
    first = [
        it
        for it in recording.torch_windows
        if it.number == FIRST and it.kind in UPDATE_KINDS and it.process in updates
    ]
    told = {it.window.process: _per_update(it) for it in view_windows(first)}
    seen = {process: rate for process, rate in told.items() if rate is not None}
    if sum(updates[it] for it in updates.keys() - seen.keys()) > _UNSEEN * made:
        fates = {it.fate for it in first if it.process not in seen}
        why = [_FATES[fate] for fate in sorted(fates) if fate in _FATES]
        raise _unseen(
            run, why[0] if why else "not all of its processes had a window of torch's profiler"
        )
    total = sum(updates[process] * rate for process, rate in seen.items())
    if not total:
        raise _unseen(run, "the updates that torch's profiler saw used no GPU")
    return total


def _per_update(it: WindowView) -> float | None:
    """Launches up to the end of the last update in the window, for it may end amid another."""
    if it.view is None:
        return None
    ends = optimizer_step_ends(it.view.trace)
    if not ends:
        return it.view.kernels.launches / it.window.updates if it.window.updates else None
    launches = sorted(call.ts for call in it.view.trace.calls if is_launch(call))
    return bisect_right(launches, ends[-1]) / len(ends)


def _unseen(run: str, why: str) -> MeasureError:
    return MeasureError(
        f"the kernel launches of {run} could not be seen: {why}",
        slug="launches-unseen",
        hint="they are told from torch's profiler over the first updates on a GPU; leave "
        "--counter kernel_launches=... out where there is none",
    )
