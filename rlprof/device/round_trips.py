"""Rollouts as a trace shows them: an action leaves the device, an observation comes back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.device.blocking import is_launch
from rlprof.device.intervals import TimeSpan
from rlprof.device.transfers import downloads, uploads
from rlprof.model.trace import Row, Trace
from rlprof.tracefile.regions import BACKWARD, LOADER, OPTIMIZER_STEP
from rlprof.units import whole_number

_SMALL_BYTES: Final = 64 * 1024
"""Most bytes of actions: what is larger is no action of any number of environments."""

_LEARNING: Final = (BACKWARD, OPTIMIZER_STEP)


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """One step of the environments, seen from the device."""

    read: Row
    """The call that copies the action to the host."""
    away: TimeSpan
    """From its end until the observation is on its way: the environment, mostly."""
    asking: TimeSpan
    """From the read or the learning before until the read: observations that come in it are answered by it."""
    shape: tuple[int, int]
    """Bytes of the action and of the observation."""


def find_round_trips(trace: Trace) -> tuple[RoundTrip, ...]:
    """Small copies to the host, and the next one back, with nothing launched in between.

    Before it the policy ran, and nothing was learned: a loss that is read before the next batch comes
    looks alike otherwise.
    """
    back = _calls_of(trace, uploads(trace))
    away = _calls_of(
        trace, [download for download in downloads(trace) if _bytes(download) <= _SMALL_BYTES]
    )
    # Without ops nobody knows what was learned in between.
    if not back or not away or not trace.ops:
        return ()
    sizes = {copy.args.correlation: _bytes(copy) for copy in (*uploads(trace), *downloads(trace))}
    launches = [call.ts for call in trace.calls if is_launch(call)]
    learning = sorted(
        row.ts for row in (*trace.ops, *trace.annotations) if row.name.startswith(_LEARNING)
    )
    loading = sorted(row.ts for row in trace.annotations if row.name.startswith(LOADER))
    found: list[RoundTrip] = []
    starts = [call.ts for call in back]
    last_end = 0.0
    for read in away:
        since, last_end = last_end, read.end
        at = bisect_left(starts, read.end)
        if not 0 < at < len(back):
            continue
        before, after = back[at - 1], back[at]
        gap = TimeSpan(read.end, after.ts)
        if (
            not _any_in(launches, gap)
            and not _any_in(loading, gap)
            and _any_in(launches, TimeSpan(before.ts, read.ts))
            and not _any_in(learning, TimeSpan(before.ts, after.ts))
            and not (found and found[-1].away.end == gap.end)
        ):
            learned = bisect_left(learning, read.ts)
            since = max(since, learning[learned - 1]) if learned else since
            asking = TimeSpan(min(since, read.ts), read.ts)
            shape = (sizes[read.args.correlation], sizes[after.args.correlation])
            found.append(RoundTrip(read, gap, asking, shape))
    return tuple(found)


def _calls_of(trace: Trace, copies: Sequence[Row]) -> list[Row]:
    numbers = {copy.args.correlation for copy in copies if copy.args.correlation}
    if not numbers:
        return []
    return [call for call in trace.calls if call.args.correlation in numbers]


def _bytes(copy: Row) -> int:
    return whole_number(str(copy.args.bytes)) or 0


def _any_in(starts: Sequence[float], span: TimeSpan) -> bool:
    at = bisect_left(starts, span.start)
    return at < len(starts) and starts[at] < span.end
