"""The report as JSON, for programs.

Values that are not finite become ``null``; lone surrogates (of paths that are not UTF-8) are
spelled out, since strict readers refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.activity import Bound, Component
from rlprof.model.crash import Crash, Hang
from rlprof.model.experiment import Experiment
from rlprof.model.finding import PricedFinding
from rlprof.model.memory import MemoryTrend, MemoryView
from rlprof.model.profile import GpuUse, Phase, Throughput
from rlprof.model.report import (
    ProcessRow,
    Report,
    Resources,
    TorchWindowRow,
    WaitRow,
)
from rlprof.renderers.base import Renderer
from rlprof.renderers.json_report import document, usage
from rlprof.renderers.json_report.values import as_json_text, filled, notes_of, seconds

_MOST_DIGITS: Final = 2
"""Most digits of the number of columns: each line begins with a multiple of them."""


def _render(report: Report, options: Mapping[str, str]) -> str:
    indent = _indent(options.get("indent", "2"))
    return as_json_text(report_as_json(report), indent=indent)


def report_as_json(report: Report) -> document.ReportDocument:
    rows = report.processes
    return document.ReportDocument(
        format="rlprof-report",
        version=1,
        rlprof=report.run.rlprof_version,
        run=_run(report),
        throughput=_throughput(report.throughput, report),
        processes=[_process(row) for row in rows],
        findings=[_finding(priced, report.throughput) for priced in report.findings],
        also_seen=[_finding(priced, report.throughput) for priced in report.also_seen],
        experiments=[_experiment(experiment) for experiment in report.experiments],
        bound_by=_bound(report.bound, rows),
        components=[_component(row) for row in report.components],
        waits=[_wait(row) for row in report.waits],
        resources=None if report.resources is None else _resources(report.resources, rows),
        memory=None if report.memory is None else _memory(report.memory, rows),
        torch_windows=[_torch_window(row) for row in report.torch_windows],
        compute=None if report.compute is None else filled(usage.Compute, report.compute),
        sync_sites=[filled(usage.SyncSite, row) for row in report.sync_sites],
        counters_per_step=dict(report.counters_per_step),
        quality=_quality(report),
    )


def _indent(text: str) -> int:
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise UsageError(
            f"the option indent of the JSON report is {text[:80]!r}",
            slug="bad-render-option",
            hint="give a number of columns, for example -p indent=0",
        )
    return int(text)


def _run(report: Report) -> document.Run:
    run = report.run
    return filled(
        document.Run,
        run,
        started=run.started.isoformat(timespec="seconds"),
        wall_s=seconds(run.wall_us),
        left_out_s=seconds(report.left_out_us),
        crash=crash_of(report.crash),
        hang=_hang(report.hang),
        host=dict(run.host),
        file=report.run_file or None,
    )


def crash_of(crash: Crash | None) -> document.Crash | None:
    if crash is None:
        return None
    workers = [
        document.DeadWorker(worker.pid, worker.role, worker.exit_code, seconds(worker.ended_us))
        for worker in crash.workers
    ]
    return document.Crash(crash.exit_code, workers, crash.before_steady)


def _hang(hang: Hang | None) -> document.Hang | None:
    if hang is None:
        return None
    return filled(document.Hang, hang, start_s=seconds(hang.start_us), end_s=seconds(hang.end_us))


def _throughput(throughput: Throughput, report: Report) -> document.Throughput:
    sps, rate = throughput.steps_per_s, throughput.steady_sps
    counts_steps = throughput.unit == "steps"
    return document.Throughput(
        unit=throughput.unit,
        source=throughput.source,
        steady_sps=None if sps is None else document.Interval(*sps),
        steady_rate=None if rate is None else document.Interval(*rate),
        drift=None if throughput.drift is None else document.Drift(*throughput.drift),
        total_steps=throughput.total_steps,
        series=[
            document.Rate(
                seconds(start), seconds(end), sps=made if counts_steps else None, rate=made
            )
            for start, end, made in throughput.series
        ],
        phases=_phases(report.phases),
    )


def _phases(phases: Sequence[Phase]) -> list[document.Phase]:
    return [
        document.Phase(phase.kind, seconds(phase.start_us), seconds(phase.end_us))
        for phase in phases
    ]


def _process(row: ProcessRow) -> document.Process:
    return filled(document.Process, row, phases=_phases(row.phases))


def _finding(priced: PricedFinding, throughput: Throughput) -> document.Finding:
    finding = priced.finding
    low, high = priced.saved_us
    after = None if priced.sps_after is None else document.Range(*priced.sps_after)
    return document.Finding(
        id=finding.detector,
        rank=priced.rank,
        title=finding.title,
        phase=finding.phase,
        confidence=finding.confidence,
        process_roles=priced.process_roles,
        saved_share=document.Range(*priced.saved_share),
        added_share=document.Range(*priced.added_share),
        sps_after=after if throughput.unit == "steps" else None,
        rate_after=after,
        counted_in=priced.counted_in,
        saved_s=seconds((low + high) / 2),
        saved_s_range=document.Range(seconds(low), seconds(high)),
        locations=[
            document.Location(place.file, place.line, place.function, place.share, place.source)
            for place in finding.locations
        ],
        evidence=finding.evidence,
        fix=finding.fix,
        docs=f"docs/detectors/{finding.detector}.md",
    )


def _experiment(experiment: Experiment) -> document.Experiment:
    predicted, measured = experiment.predicted, experiment.measured
    return filled(
        document.Experiment,
        experiment,
        predicted=None if predicted is None else document.Range(*predicted),
        measured=None if measured is None else document.MeasuredShare(*measured),
        location=document.TriedPlace(experiment.file, experiment.line, experiment.function),
    )


def _bound(bound: Bound, rows: Sequence[ProcessRow]) -> document.Bound:
    pids = [rows[process].pid for process in bound.processes]
    return document.Bound(bound.by, pids, bound.share, bound.text)


def _component(row: Component) -> document.Component:
    per_step_s = seconds(row.per_step_us)
    return filled(document.Component, row, marked=row.is_marked, cpu_per_step_s=per_step_s)


def _wait(row: WaitRow) -> document.Wait:
    on = [document.WaitedFor(*process) for process in row.on]
    return document.Wait(row.pid, row.role, row.thread, row.kind, row.share, on)


def _resources(resources: Resources, rows: Sequence[ProcessRow]) -> usage.Resources:
    return usage.Resources(
        cores=resources.cores,
        used_cores=resources.used,
        queued_threads=resources.queued,
        native_cores=resources.native,
        saturated=resources.saturated,
        by_role=[usage.RoleUse(*use) for use in resources.by_role],
        gpus=[_gpu(gpu, rows) for gpu in resources.gpus],
    )


def _gpu(gpu: GpuUse, rows: Sequence[ProcessRow]) -> usage.Gpu:
    processes = [
        usage.GpuProcess(rows[process].pid, rows[process].role, held)
        for process, held in gpu.process_bytes
    ]
    return filled(usage.Gpu, gpu, processes=processes)


def _memory(memory: MemoryView, rows: Sequence[ProcessRow]) -> usage.Memory:
    return filled(
        usage.Memory,
        memory,
        shared_counted_once=memory.is_shared_out,
        growth=_trend(memory.trend),
        processes=[
            filled(
                usage.ProcessMemory,
                used,
                pid=rows[used.process].pid,
                growth=_trend(used.trend),
            )
            for used in memory.processes
        ],
        lines=[filled(usage.GrownLine, line) for line in memory.lines],
    )


def _trend(trend: MemoryTrend | None) -> usage.Trend | None:
    return None if trend is None else filled(usage.Trend, trend, steady=trend.is_steady)


def _quality(report: Report) -> document.Quality:
    return document.Quality(filled(document.Overhead, report.overhead), notes_of(report.notes))


# --- torch: windows of its profiler, reads of tensors, operations ---------------------------


def _torch_window(row: TorchWindowRow) -> usage.TorchWindow:
    return filled(
        usage.TorchWindow,
        row,
        left_out=row.is_left_out,
        kernel_launches=row.launches,
        gpu_busy_share=row.busy_share,
        gpu_idle=dict(row.idle),
        heaviest_ops=[usage.Operation(*op) for op in row.top_ops],
        heaviest_kernels=[usage.Operation(*op) for op in row.top_kernels],
    )


RENDERER: Final = Renderer(
    name="json",
    suffixes=(".json",),
    render=_render,
    options={"indent": "spaces per level, 0 for one line (default 2)"},
)
