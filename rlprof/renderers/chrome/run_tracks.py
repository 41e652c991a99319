"""Tell what is of the whole run: its phases, findings and counters; and the life of each process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rlprof.model.detail import Detail
from rlprof.model.finding import PricedFinding
from rlprof.model.profile import Phase
from rlprof.model.report import ProcessRow, Report
from rlprof.names import printable
from rlprof.renderers.chrome.events import (
    RUN,
    Clock,
    Event,
    Numbers,
    complete,
    process_named,
    thread_named,
)
from rlprof.report import wording


def run_tracks(report: Report, clock: Clock, numbers: Numbers) -> Iterator[Event]:
    yield from process_named(RUN, f"rlprof: {wording.command(report) or 'a run'}", 0)
    tid = numbers.another()
    yield from thread_named(RUN, tid, "phases", 1)
    yield from _phases(report.phases, RUN, tid, clock)
    for words, findings in (("finding", report.findings), ("also seen", report.also_seen)):
        for priced in findings:
            tid = numbers.another()
            yield from thread_named(RUN, tid, f"{words} {priced.rank}", 1 + priced.rank)
            yield _finding(priced, report, tid, clock)
    yield from _counters(report.detail or Detail(), clock)


def all_process_tracks(report: Report, clock: Clock, numbers: Numbers) -> Iterator[Event]:
    for position, row in enumerate(report.processes, start=1):
        yield from _process_tracks(row, position, clock, numbers)


def _process_tracks(
    row: ProcessRow, position: int, clock: Clock, numbers: Numbers
) -> Iterator[Event]:
    """Its name, its life and its phases."""
    labels = "" if row.sampled else f"not sampled: {printable(row.note) or 'no reason is known'}"
    # Viewers put the pid beside it.
    yield from process_named(row.pid, printable(row.role), position, labels)
    tid = numbers.another()
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
        tid = numbers.another()
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
        saves=wording.unglued(wording.saved(priced)),
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
