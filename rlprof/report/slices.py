"""Samples by slices of time: fewer than windows, and each within one phase."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rlprof.model.detail import Slice
from rlprof.model.profile import Phase
from rlprof.model.recording import Recording, Samples, Window

MOST_SLICES: Final = 120
"""A range of time can be chosen to within a hundredth of the run, and what is stored for it stays
small however long the run."""


def cut_slices(
    windows: Sequence[Window], phases: Sequence[Phase], *, most: int = MOST_SLICES
) -> tuple[tuple[Slice, ...], tuple[int, ...]]:
    """The slices, and for each window the slice that it is in.

    A window belongs to the phase that its middle lies in. There may be a few more than ``most``:
    every change of phase begins a slice.
    """
    if not windows:
        return (), ()
    longest_us = (windows[-1].end_us - windows[0].start_us) / most
    slices: list[Slice] = []
    slice_of = []
    for phase, group in groupby(windows, key=lambda it: _phase_at(it, phases)):
        begun = False
        for window in group:
            last = slices[-1] if begun else None
            if last is not None and window.end_us - last.start_us <= longest_us:
                slices[-1] = last._replace(end_us=window.end_us)
            else:
                kind = phase.kind if phase is not None else None
                slices.append(Slice(window.start_us, window.end_us, kind))
                begun = True
            slice_of.append(len(slices) - 1)
    return tuple(slices), tuple(slice_of)


def by_slice(recording: Recording, slice_of: Sequence[int]) -> Samples:
    """The samples of ``recording`` with slices in place of windows, in order."""
    costs: dict[tuple[int, int, int], list[int]] = {}
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        key = (slice_of[window], thread, node)
        cost = costs.get(key)
        if cost is None:
            costs[key] = [wall, idle, cpu]
        else:
            cost[0] += wall
            cost[1] += idle
            cost[2] += cpu
    merged = Samples()
    for key in sorted(costs):
        merged.add(*key, *costs[key])
    return merged


def _phase_at(window: Window, phases: Sequence[Phase]) -> Phase | None:
    middle = (window.start_us + window.end_us) / 2
    return next((it for it in phases if it.start_us <= middle < it.end_us), None)
