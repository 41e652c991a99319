"""Numbers read from a device, and shapes or branches that depend on its data: the host waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set
from itertools import pairwise
from typing import Final

from rlprof.detectors.base import Detector, InTrace
from rlprof.device.host import CLIPPING
from rlprof.device.places import per_step, places_of
from rlprof.device.view import SiteWait, TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Range
from rlprof.model.trace import Row
from rlprof.units import count, duration, percent, rough_count

MIN_PER_STEP: Final = 1.0
"""Waits per step below which it is logging now and then."""

WITHOUT_STEPS: Final = 10.0
"""Waits in all from which on they are named where the trace marks no steps."""

MIN_SHARE: Final = 0.01
"""Least share of the wall time, by the bound: what is less is mentioned only where it happens at each step."""

_READS: Final = frozenset({"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"})
_DATA_DEPENDENT: Final = frozenset(
    {"aten::nonzero", "aten::masked_select", "aten::index", "aten::_unique2", "aten::unique_dim",
     "aten::repeat_interleave", "aten::index_put_", "aten::is_nonzero", "aten::bincount"}
)  # fmt: skip

IN_A_ROW_US: Final = 1000.0
"""From the end of one read to the next of the same function, up to which one read would do for both."""

FEWEST_IN_A_ROW: Final = 3

IDLE_WAIT: Final = 0.9
"""Part of a wait in which the device has nothing to do: the host then waits for something else."""


def detect(view: TraceView) -> Iterable[DeviceFinding]:
    actions = {id(trip.read) for trip in view.round_trips}
    waits = [
        wait
        for wait in view.waits
        if _is_read(wait) and not waits_for_others(wait) and not _mostly(wait, actions)
    ]
    calls = sum(len(wait.calls) for wait in waits)
    bound = sum(wait.recoverable_us for wait in waits)
    least = MIN_PER_STEP if view.step_count else WITHOUT_STEPS
    often = per_step(calls, view) >= least
    if not waits or not (often or bound >= MIN_SHARE * view.wall.length):
        return
    waited = sum(wait.wait_us for wait in waits)
    shapes = sum(len(wait.calls) for wait in waits if wait.site.outer_op in _DATA_DEPENDENT)
    evidence = [
        f"{count(calls)} reads wait {duration(waited)} in all, {percent(waited / view.wall.length)} of the "
        f"trace; the GPU is idle after them for {duration(bound)} at most: only that can be gained"
    ]
    if view.step_count:
        evidence.append(f"{rough_count(per_step(calls, view))} reads per step")
    if shapes:
        evidence.append(f"{count(shapes)} of them decide a branch or a shape")
    if in_a_row := _in_a_row(waits):
        evidence.append(
            f"{count(in_a_row)} of them come right after each other: one read of all would do"
        )
    if clipping := sum(len(wait.calls) for wait in waits if wait.site.asked_by == CLIPPING):
        evidence.append(
            f"{count(clipping)} of them are by clip_grad_norm_(error_if_nonfinite=True)"
        )
    yield DeviceFinding(
        title="the host waits for the GPU to read a number",
        saved_us=Range(0.0, bound),
        evidence=tuple(evidence),
        fix="Keep sums on the device (total += loss.detach()) and read them once per some updates; read "
        "several at once (torch.stack([...]).tolist()); torch.where in place of a branch on a tensor.",
        causes=(IdleCause.SYNC, IdleCause.BLOCKING_COPY),
        places=places_of(waits),
        is_of_reads=True,
    )


def waits_for_others(wait: SiteWait) -> bool:
    """Tell whether the device was idle nearly all the while: no work of its own was waited for."""
    return wait.wait_us > 1000 and wait.idle_us > IDLE_WAIT * wait.wait_us


def _mostly(wait: SiteWait, actions: Set[int]) -> bool:
    """Tell whether actions are read there: the environments need them (``rollout-round-trip``)."""
    return 2 * sum(id(call) in actions for call in wait.calls) > len(wait.calls)


def _in_a_row(waits: Iterable[SiteWait]) -> int:
    """Reads of one function that follow each other closely, in groups of a few or more."""
    by_function: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for wait in waits:
        site = wait.site
        by_function[site.file, site.function, site.region].extend(wait.calls)
    found = 0
    for calls in by_function.values():
        calls.sort(key=lambda call: call.ts)
        ends = [
            at
            for at in range(1, len(calls) + 1)
            if at == len(calls) or calls[at].ts - calls[at - 1].end > IN_A_ROW_US
        ]
        groups = [end - start for start, end in pairwise([0, *ends])]
        found += sum(number for number in groups if number >= FEWEST_IN_A_ROW)
    return found


def _is_read(wait: SiteWait) -> bool:
    """Those that others ask for have findings of their own."""
    if wait.site.asked_by not in ("", CLIPPING):
        return False
    ops = {wait.site.outer_op, wait.site.inner_op}
    return bool(ops & (_READS | _DATA_DEPENDENT))


DETECTOR: Final = Detector(
    id="gpu-sync",
    name="reads that make the host wait for the GPU",
    in_trace=InTrace(detect),
)
