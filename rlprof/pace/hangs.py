"""Hangs: stretches of a run in which nobody works and somebody waits for a worker that died, or all wait to the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rlprof.libraries.step_sources import STEP_SOURCES
from rlprof.model.activity import FOR_OTHERS, WaitKind
from rlprof.model.counters import BATCHES, EVALUATION_STEPS, IPC_MESSAGES, UPDATES
from rlprof.model.crash import NOTICED_AFTER_US, has_died, is_missed
from rlprof.model.gauges import CPU_US
from rlprof.model.recording import POOLED, Recording, Thread, Window
from rlprof.pace.steps import Span
from rlprof.pace.times import Times

LEAST_AFTER_DEATH_US: Final = 5_000_000
"""Length of a stretch without work, after a worker died, from which on it is a hang: what ends by itself
sooner (a pool that starts another worker, a time-out that was meant) costs no more than that."""

LEAST_US: Final = 10_000_000
"""The same where nobody died: all wait for each other until the run is ended from outside."""

QUIET: Final = 0.05
"""Part of a core that all processes together may use in a hang: they look at the time, and at whether others live."""

_MOST_QUEUED: Final = 0.5
"""Part of a core that threads may wait for one: beyond it, somebody wants to work and cannot."""

_MOSTLY: Final = 0.8
"""Part of a stretch that a thread waits for others for it to be one that hangs."""

_LAST: Final = 2
"""Windows from the end within which a hang that somebody put an end to ends."""

_STILL: Final = 4
"""Quiet windows on either side of a busy one that show it to be an exception: two seconds each."""

_PROGRESS: Final = frozenset({*STEP_SOURCES, EVALUATION_STEPS, UPDATES, BATCHES})
"""Counters of what a hang has none of; of messages it has only some that nobody answers."""

ENDLESS: Final = (FOR_OTHERS - {WaitKind.SOCKET, WaitKind.EVENT_LOOP}) | {WaitKind.LOCK}
"""Waits that end by the run's own processes alone: behind a socket may be somebody else who works."""


def find_hang(recording: Recording, times: Times, kinds: Mapping[int, WaitKind]) -> Span | None:
    """The windows of the longest hang; None where there is none, as nearly always."""
    windows = recording.windows
    stretches = [
        stretch
        for stretch in _quiet_stretches(recording, times, kinds)
        if length_us(windows, stretch) >= LEAST_AFTER_DEATH_US
    ]
    hangs = [stretch for stretch in stretches if _is_hang(stretch, recording, kinds)]
    return max(hangs, key=lambda stretch: length_us(windows, stretch), default=None)


def is_after_a_death(recording: Recording, start_us: int) -> bool:
    """Tell whether a worker had died, or was stopped just then, when a stretch without work began; rlprof may notice it later."""
    return any(
        (has_died(process) and (process.ended_us or 0) <= start_us + NOTICED_AFTER_US)
        or is_missed(process, start_us)
        for process in recording.processes
    )


def waited_by_thread(
    recording: Recording, stretch: Span, kinds: Mapping[int, WaitKind]
) -> dict[int, dict[WaitKind, int]]:
    """µs that each thread waits in ``stretch``, by kind; busy time too in loops that poll."""
    waited: dict[int, dict[WaitKind, int]] = defaultdict(lambda: defaultdict(int))
    for window, thread, node, wall, idle, _ in recording.samples.rows():
        if stretch.first <= window <= stretch.last:
            kind = kinds.get(node, WaitKind.UNKNOWN)
            waited[thread][kind] += wall if kind is WaitKind.POLL else idle
    return waited


def _quiet_stretches(
    recording: Recording, times: Times, kinds: Mapping[int, WaitKind]
) -> Iterator[Span]:
    """Yield the longest stretches in which nobody works.

    One busy window amid ``_STILL`` quiet ones on either side does not end them, as long as nothing moves on in it:
    on a loaded machine the little that runs in a hang takes long now and then.
    """
    moved = {
        counter.window
        for counter in recording.counters
        if counter.name in _PROGRESS and counter.value > 0
    } | _answered_windows(recording)
    quiet = _quiet_windows(recording, times, kinds) - moved
    first: int | None = None
    for i in range(times.windows + 1):
        around = {i + far for far in range(-_STILL, _STILL + 1)} - {i}
        is_quiet = i in quiet or (i not in moved and around <= quiet)
        if is_quiet and first is None:
            first = i
        elif not is_quiet and first is not None:
            yield Span(first, i - 1)
            first = None


def _answered_windows(recording: Recording) -> set[int]:
    """Windows in which messages were sent. Of those after the end of a worker, where several processes had sent some, only those that
    more than one process sends in near: who waits for the dead may hand out a task now and then.
    """
    senders: dict[int, set[int]] = defaultdict(set)
    for counter in recording.counters:
        if counter.name == IPC_MESSAGES and counter.value > 0:
            senders[counter.window].add(counter.process)
    ends = [
        process.ended_us
        for process in recording.processes
        if process.exit_code and process.start_method in POOLED and process.ended_us is not None
    ]
    if not ends:
        return set(senders)
    before = [window.id for window in recording.windows if window.end_us <= min(ends)]
    if len(set().union(*(senders.get(window, ()) for window in before))) < 2:
        return set(senders)
    return {
        window
        for window in senders
        if recording.windows[window].start_us <= min(ends)
        or len(set().union(*(senders.get(window + far, ()) for far in range(-_STILL, _STILL + 1))))
        > 1
    }


def _quiet_windows(recording: Recording, times: Times, kinds: Mapping[int, WaitKind]) -> set[int]:
    """Windows in which nobody works: by CPU time, since who looks at the time on a shared machine may queue for long."""
    busy, cpu = _sums(recording, times.busy_us), _sums(recording, times.cpu_us)
    polling = [0.0] * times.windows
    if WaitKind.POLL in kinds.values():
        for number, _, node, wall, idle, _ in recording.samples.rows():
            if kinds.get(node) is WaitKind.POLL:
                polling[number] += wall - idle
    of_process = [0.0] * times.windows
    for gauge in recording.gauges:
        if gauge.name == CPU_US:
            of_process[gauge.window] += gauge.value
    quiet = set()
    for window in recording.windows:
        i = window.id
        works_us = max(cpu[i], of_process[i]) - polling[i]
        queues_us = busy[i] - cpu[i] - polling[i]
        if works_us <= QUIET * window.length_us and queues_us <= _MOST_QUEUED * window.length_us:
            quiet.add(i)
    return quiet


def _sums(recording: Recording, by_cell: Sequence[int]) -> list[int]:
    """Return the sums of all threads together, by window."""
    count = len(recording.windows)
    return [
        sum(by_cell[thread.id * count + i] for thread in recording.threads) for i in range(count)
    ]


def _is_hang(stretch: Span, recording: Recording, kinds: Mapping[int, WaitKind]) -> bool:
    start_us = recording.windows[stretch.first].start_us
    long_us = length_us(recording.windows, stretch)
    waited = waited_by_thread(recording, stretch, kinds)
    mains = [
        thread.id
        for thread in recording.threads
        if thread.is_main and thread.id in waited and _is_of_run(recording, thread, stretch)
    ]
    least_us = _MOSTLY * long_us
    if is_after_a_death(recording, start_us):
        # Also asleep between two looks whether there is something new.
        return any(
            sum(waited[main][kind] for kind in ENDLESS | {WaitKind.SLEEP}) >= least_us
            for main in mains
        )
    return (
        long_us >= LEAST_US
        and stretch.last >= len(recording.windows) - _LAST
        and not (recording.run.complete and recording.run.exit_code == 0)
        and bool(mains)
        and all(sum(waited[main][kind] for kind in ENDLESS) >= least_us for main in mains)
    )


def _is_of_run(recording: Recording, thread: Thread, stretch: Span) -> bool:
    """Tell whether it is alive at the end of the stretch, and no program of another kind that the run started."""
    process = recording.processes[thread.process]
    # The last window may be the moment in which it ends.
    end_us = recording.windows[stretch.last].end_us - NOTICED_AFTER_US
    lives = process.ended_us is None or process.ended_us >= end_us
    return lives and process.start_method in {"root", *POOLED}


def length_us(windows: Sequence[Window], stretch: Span) -> int:
    return windows[stretch.last].end_us - windows[stretch.first].start_us
