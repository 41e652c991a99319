"""Phases of a run, and when each process is done with its own start-up."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from rlprof.model.profile import Phase, PhaseKind
from rlprof.model.recording import Recording, Window
from rlprof.pace.steadiness import warm_up_length
from rlprof.pace.steps import Span, StepCounts
from rlprof.pace.times import Times

_DOMINATES = 0.5
"""Part of the active time from which on a window belongs to the imports."""

_BEFORE_IMPORTS_US = 100_000
"""Activity of another kind before imports, and between them, that does not end them: on a crowded host the interpreter's own start has windows
of its own.
"""

_LATEST_CALL = 0.5
"""Part of the run after which a first call of a network does not end its start-up."""

_MOST_QUEUED = 0.95
"""A thread that queues for longer does not run for long enough to tell its pace."""


@dataclass(frozen=True, slots=True)
class RunPhases:
    """The phases of a run, in window numbers."""

    start_up: int
    """Windows before the first step or, without steps, before the end of the first imports and the first call of a network."""
    steady: Span | None
    ready: Mapping[int, int]
    """The first window after its start-up, by process."""
    hang: Span | None = None
    """Windows in which nobody worked; never a part of the steady phase."""


def find_phases(
    recording: Recording, counts: StepCounts, times: Times, hang: Span | None = None
) -> RunPhases:
    last = len(recording.windows) - 1
    if last < 0:
        return RunPhases(0, None, {})
    imported = _imports_done(recording, times)
    works = _works_from(recording, times)
    if not counts.spans:
        start = _first_steady_print(counts, works)
        steady = Span(start, last) if start <= last else None
        ready = {process: max(works, done) for process, done in imported.items()}
        return RunPhases(works, _without(steady, hang), ready, hang)
    if counts.begins_late:
        imported = {process: max(works, done) for process, done in imported.items()}
    begin = min(_begin(counts, process, imported) for process in counts.spans)
    ready = {
        process.id: _begin(counts, process.id, imported)
        if process.id in counts.spans and counts.known_processes
        else max(imported[process.id], begin)
        if _first_window(recording, process.started_us) < begin
        else imported[process.id]
        for process in recording.processes
    }
    return RunPhases(begin, _steady_span(recording, counts, hang), ready, hang)


def _without(span: Span | None, hang: Span | None) -> Span | None:
    """The longer part of ``span`` beside ``hang``, in windows."""
    if span is None or hang is None or hang.last < span.first or hang.first > span.last:
        return span
    before, after = Span(span.first, hang.first - 1), Span(hang.last + 1, span.last)
    longer = max(before, after, key=lambda part: part.last - part.first)
    return longer if longer.first <= longer.last else None


def phases_of(found: RunPhases, windows: Sequence[Window]) -> tuple[Phase, ...]:
    """The phases that take time, in order; together they cover the run."""
    if not windows:
        return ()
    end = windows[-1].end_us
    start_up_end = windows[found.start_up].start_us if found.start_up < len(windows) else end
    if found.steady is None:
        bounds = [
            (PhaseKind.START_UP, windows[0].start_us, start_up_end),
            (PhaseKind.STEADY, start_up_end, end),
        ]
    else:
        steady_start = windows[found.steady.first].start_us
        steady_end = windows[found.steady.last].end_us
        bounds = [
            (PhaseKind.START_UP, windows[0].start_us, start_up_end),
            (PhaseKind.WARM_UP, start_up_end, steady_start),
            (PhaseKind.STEADY, steady_start, steady_end),
            (PhaseKind.SHUTDOWN, steady_end, end),
        ]
    phases = [Phase(kind, start, stop) for kind, start, stop in bounds if stop > start]
    if found.hang is not None:
        phases = _cut_by_hang(phases, found.hang, windows)
    return tuple(phases)


def _cut_by_hang(phases: Sequence[Phase], hang: Span, windows: Sequence[Window]) -> list[Phase]:
    start, end = windows[hang.first].start_us, windows[hang.last].end_us
    cut = [Phase(PhaseKind.HANG, start, end)]
    for phase in phases:
        before = Phase(phase.kind, phase.start_us, min(phase.end_us, start))
        after = Phase(phase.kind, max(phase.start_us, end), phase.end_us)
        cut += [part for part in (before, after) if part.end_us > part.start_us]
    return sorted(cut, key=lambda phase: phase.start_us)


def process_phases(
    recording: Recording, found: RunPhases, phases: Sequence[Phase]
) -> dict[int, tuple[Phase, ...]]:
    """The phases of each process: from its start until it works, then the run's, to its end."""
    windows = recording.windows
    end = windows[-1].end_us if windows else 0
    result = {}
    for process in recording.processes:
        last = process.ended_us if process.ended_us is not None else end
        ready = found.ready.get(process.id, 0)
        works = windows[ready].start_us if ready < len(windows) else end
        works = min(max(works, process.started_us), last)
        own = [Phase(PhaseKind.START_UP, process.started_us, works)]
        own += [
            Phase(phase.kind, max(phase.start_us, works), min(phase.end_us, last))
            for phase in phases
            if phase.kind is not PhaseKind.START_UP
        ]
        result[process.id] = tuple(phase for phase in own if phase.end_us > phase.start_us)
    return result


def _begin(counts: StepCounts, process: int, imported: Mapping[int, int]) -> int:
    """First window with steps. A first count that comes late is no sign of a long start-up."""
    first = counts.first_counts[process]
    is_late = counts.begins_late or process in counts.sparse
    return min(first, imported[process]) if is_late else first


def _steady_span(recording: Recording, counts: StepCounts, hang: Span | None) -> Span | None:
    first = min(span.first for span in counts.spans.values())
    last = max(span.last for span in counts.spans.values())
    part = _without(Span(first, last), hang)
    if part is None:
        return None
    first, last = part
    return Span(first + warm_up_length(_relative_rates(recording, counts, first, last)), last)


def _relative_rates(recording: Recording, counts: StepCounts, first: int, last: int) -> list[float]:
    """Pace of each window: its rate over what the processes that step in it usually make.

    So a pool of which workers leave, or join late, does not look like one that changes its pace;
    nor does a program that has to share the host for a while, since time in the run queue is
    left out.
    """
    queued = _queued_parts(recording, counts.spans)
    got = [0.0] * (last - first + 1)
    usual = [0.0] * (last - first + 1)
    for process, span in counts.spans.items():
        rates = {
            i: counts.per_window[process][i]
            / max(1.0, recording.windows[i].length_us * (1 - queued.get((process, i), 0.0)))
            for i in range(max(span.first, first), min(span.last, last) + 1)
        }
        if not rates:
            continue
        own = median(rates.values()) or fmean(rates.values())
        for i, rate in rates.items():
            got[i - first] += rate
            usual[i - first] += own
    return [rate / own if own else 0.0 for rate, own in zip(got, usual, strict=True)]


def _queued_parts(recording: Recording, processes: Container[int]) -> dict[tuple[int, int], float]:
    """Part of the time that a process's main thread waits for a CPU, by (process, window)."""
    parts = {}
    for clock in recording.clocks:
        thread = recording.threads[clock.thread]
        if thread.is_main and thread.process in processes and clock.wall_us:
            part = min(_MOST_QUEUED, clock.run_queue_us / clock.wall_us)
            parts[thread.process, clock.window] = part
    return parts


def _first_steady_print(counts: StepCounts, works: int) -> int:
    """First window after warm-up by the rates that the program printed, if it did."""
    if not counts.printed_rates:
        return works
    cut = warm_up_length([rate for _, rate in counts.printed_rates])
    return max(works, counts.printed_rates[cut][0]) if cut else works


def _works_from(recording: Recording, times: Times) -> int:
    """The window in which the run is done with its start-up, as far as that can be told without steps.

    What first asks a network late does so after work of another kind.
    """
    asks = times.first_network_call
    is_early = asks is not None and asks <= _LATEST_CALL * times.windows
    imported = _run_imports_done(recording, times)
    return max(imported, asks) if asks is not None and is_early else imported


def _first_window(recording: Recording, at_us: int) -> int:
    return next((w.id for w in recording.windows if w.end_us > at_us), len(recording.windows))


def _imports_done(recording: Recording, times: Times) -> dict[int, int]:
    """For each process the window in which imports cease to dominate its main thread."""
    done = {
        process.id: _first_window(recording, process.started_us) for process in recording.processes
    }
    for thread in recording.threads:
        if thread.is_main:
            cells = times.span(thread.id, 0, times.windows - 1)
            walls = [
                busy + idle - unlocated
                for busy, idle, unlocated in zip(
                    times.busy_us[cells],
                    times.idle_us[cells],
                    times.unlocated_us[cells],
                    strict=True,
                )
            ]
            done[thread.process] = _leading(
                times.import_us[cells], walls, from_window=done[thread.process]
            )
    return done


def _run_imports_done(recording: Recording, times: Times) -> int:
    """The window in which imports cease to dominate the work of all threads together: the main one may start others, and sleep."""
    imports = [0] * times.windows
    active = [0] * times.windows
    for thread in recording.threads:
        for window in range(times.windows):
            cell = times.at(thread.id, window)
            imports[window] += times.import_us[cell]
            unlocated = times.unlocated_us[cell] - times.unlocated_idle_us[cell]
            active[window] += times.busy_us[cell] - unlocated + times.waiting_import_us[cell]
    return _leading(imports, active, from_window=0)


def _leading(imports: Sequence[int], active: Sequence[int], *, from_window: int) -> int:
    """The first window after those in which, nearly from the first, imports are most of the activity."""
    done, other_us = from_window, 0
    for window in range(from_window, len(imports)):
        # Where nothing is active, the process was not seen yet, or not what it does, or it waits for another.
        if active[window] <= 0:
            continue
        if imports[window] >= _DOMINATES * active[window]:
            done = window + 1
            continue
        other_us += active[window]
        if other_us > _BEFORE_IMPORTS_US:
            break
    return done
