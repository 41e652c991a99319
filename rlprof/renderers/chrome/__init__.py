"""A trace in Chrome's format, for Perfetto: processes, phases, findings, samples and torch's events on one clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from rlprof import units
from rlprof.model.detail import Detail
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import Phase
from rlprof.model.report import ProcessRow, Report
from rlprof.names import printable
from rlprof.renderers.base import Renderer
from rlprof.renderers.chrome.boxes import sample_tracks, thinnest_share
from rlprof.renderers.chrome.events import (
    RUN,
    Clock,
    Event,
    complete,
    free_numbers,
    process_named,
    thread_named,
)
from rlprof.renderers.chrome.torch_tracks import placed_windows, read_windows, torch_tracks
from rlprof.report import wording
from rlprof.report.thread_stacks import caveats, threads_with_time, wants

# --- what is of the whole run (its phases, findings and counters), and the life of each process


def run_tracks(report: Report, clock: Clock, numbers: Iterator[int]) -> Iterator[Event]:
    yield from process_named(RUN, f"rlprof: {wording.command(report) or 'a run'}", 0)
    tid = next(numbers)
    yield from thread_named(RUN, tid, "phases", 1)
    yield from _phases(report.phases, RUN, tid, clock)
    for words, findings in (("finding", report.findings), ("also seen", report.also_seen)):
        for priced in findings:
            tid = next(numbers)
            yield from thread_named(RUN, tid, f"{words} {priced.rank}", 1 + priced.rank)
            yield _finding(priced, report, tid, clock)
    yield from _counters(report.detail or Detail(), clock)


def all_process_tracks(report: Report, clock: Clock, numbers: Iterator[int]) -> Iterator[Event]:
    for position, row in enumerate(report.processes, start=1):
        yield from _process_tracks(row, position, clock, numbers)


def _process_tracks(
    row: ProcessRow, position: int, clock: Clock, numbers: Iterator[int]
) -> Iterator[Event]:
    """Its name, its life and its phases."""
    labels = "" if row.sampled else f"not sampled: {printable(row.note) or 'no reason is known'}"
    # Viewers put the pid beside it.
    yield from process_named(row.pid, printable(row.role), position, labels)
    tid = next(numbers)
    yield from thread_named(row.pid, tid, "process", 1)
    lived = row.at_pace_us or (row.started_s * 1e6, (row.started_s + row.wall_s) * 1e6)
    begun_us, ended_us = lived
    yield complete(
        printable(row.role),
        "process",
        clock.start(begun_us),
        clock.end(ended_us),
        row.pid,
        tid,
        command=printable(row.command),
        python=printable(row.python),
        parent=row.ppid,
        sampled=row.sampled,
        cpu_s=round(row.cpu_s, 3),
        note=printable(row.note),
    )
    if row.phases:
        tid = next(numbers)
        yield from thread_named(row.pid, tid, "phases", 2)
        yield from _phases(row.phases, row.pid, tid, clock)


def _phases(phases: Sequence[Phase], pid: int, tid: int, clock: Clock) -> Iterator[Event]:
    for phase in phases:
        start, end = clock.start(phase.start_us), clock.end(phase.end_us)
        yield complete(phase.kind.value, "phase", start, end, pid, tid)


def _finding(priced: PricedFinding, report: Report, tid: int, clock: Clock) -> Event:
    """A finding lies over the phase that it costs: when in it the time goes is not said here."""
    finding = priced.finding
    phases = [phase for phase in report.phases if phase.kind is finding.phase]
    start_us = min((phase.start_us for phase in phases), default=0)
    end_us = max((phase.end_us for phase in phases), default=report.run.wall_us)
    return complete(
        printable(finding.title),
        "finding",
        clock.start(start_us),
        clock.end(end_us),
        RUN,
        tid,
        id=finding.detector,
        saves=wording.unglued(wording.share_saved(priced)),
        gives=wording.unglued(wording.price_after(priced, report)),
        confidence=finding.confidence.value,
        places=[f"{printable(location.file)}:{location.line}" for location in finding.locations],
        evidence=[printable(wording.unglued(text)) for text in finding.evidence],
        fix=printable(wording.unglued(finding.fix), 2_000),
    )


def _counters(detail: Detail, clock: Clock) -> Iterator[Event]:
    for series in detail.series:
        rate = series.group == "rate"
        name = series.unit if rate else f"{series.group}: {printable(series.name)}"
        shown: float | None = None
        for (start_us, _), value in zip(detail.points_us, series.values, strict=True):
            # A counter keeps its value until the next one: what is no longer measured goes to 0.
            now = value if value is not None or shown is None else 0.0
            if now is not None and now != shown:
                shown = now
                yield {
                    "ph": "C",
                    "name": name,
                    "cat": series.group,
                    "pid": RUN,
                    "tid": 0,
                    "ts": clock.start(start_us),
                    "args": {series.unit: round(now, 4)},
                }


# --- the trace -----------------------------------------------------------------------------

_CLOCK: Final = "µs of the run at its own pace"
_CLOCK_WITH_WINDOWS: Final = (
    "µs of the run at its own pace, with its windows of torch's profiler put in where they were"
)
_ORDER: Final = (
    "Of a sample it is known in which slice of the run it lies, not when in it: within a slice "
    "the boxes stand in no order of time. What takes less than {} of a slice stays with its caller."
)


def _render(report: Report, options: Mapping[str, str]) -> str:
    has_samples, has_torch = wants("samples", options), wants("torch", options)
    detail = report.detail or Detail()
    windows, unread = read_windows(detail.torch_traces if has_torch else ())
    placed, clock = placed_windows(report, windows)
    threads = list(threads_with_time(report)) if has_samples else []
    thinnest = thinnest_share(threads, detail.nodes)
    head = {
        "displayTimeUnit": "ms",
        "otherData": {
            "exporter": f"rlprof {printable(report.run.rlprof_version)}",
            "clock": _CLOCK_WITH_WINDOWS if placed else _CLOCK,
            "samples": _ORDER.format(units.percent(thinnest)),
            "notes": [*caveats(report), *unread],
        },
    }
    encode = msgspec.json.encode
    numbers = free_numbers()
    tracks = chain(
        run_tracks(report, clock, numbers),
        all_process_tracks(report, clock, numbers),
        sample_tracks(threads, detail, report.run.cwd, clock, numbers, thinnest=thinnest),
        torch_tracks(report, placed, clock, numbers),
    )
    lines = b",\n".join(map(encode, tracks))
    return (
        f'{encode(head).decode()[:-1]},\n"traceEvents":[\n{lines.decode("utf-8", "replace")}\n]}}\n'
    )


RENDERER: Final = Renderer(
    name="chrome",
    suffixes=(".trace.json", ".perfetto.json"),
    render=_render,
    options={
        "samples": "yes (default): what each thread did, as boxes over time; or no",
        "torch": "yes (default): all events of the windows of torch's profiler; or no",
    },
    is_export=True,
    needs_detail=True,
)
