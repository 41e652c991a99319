"""The report as JSON, for programs.

Values that are not finite become ``null``; lone surrogates (of paths that are not UTF-8) are
spelled out, since strict readers refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.activity import Bound, Component
from rlprof.model.crash import Crash
from rlprof.model.finding import PricedFinding
from rlprof.model.gpus import GpuUse
from rlprof.model.memory import MemoryTrend, MemoryView
from rlprof.model.profile import Phase, Throughput
from rlprof.model.report import (
    Compute,
    ProcessRow,
    Report,
    Resources,
    SyncSiteRow,
    TorchWindowRow,
    WaitRow,
)
from rlprof.renderers.base import Renderer
from rlprof.renderers.json_report import document
from rlprof.renderers.json_report.values import as_json_text, notes_of, seconds


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
        findings=[_finding(priced) for priced in report.findings],
        also_seen=[_finding(priced) for priced in report.also_seen],
        bound_by=_bound(report.bound, rows),
        components=[_component(row) for row in report.components],
        waits=[_wait(row) for row in report.waits],
        resources=None if report.resources is None else _resources(report.resources, rows),
        memory=None if report.memory is None else _memory(report.memory, rows),
        torch_windows=[torch_window(row) for row in report.torch_windows],
        compute=compute_of(report.compute),
        sync_sites=[sync_site(row) for row in report.sync_sites],
        counters_per_step=dict(report.counters_per_step),
        quality=_quality(report),
    )


def _indent(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(
            f"the option indent of the JSON report is {text!r}",
            slug="bad-render-option",
            hint="give a whole number, for example -p indent=0",
        )
    return int(text)


def _run(report: Report) -> document.Run:
    run = report.run
    started = datetime.fromtimestamp(run.started_unix_s, tz=timezone.utc)
    return document.Run(
        id=run.id,
        command=run.command,
        script=run.script,
        cwd=run.cwd,
        started=started.isoformat(timespec="seconds"),
        wall_s=seconds(run.wall_us),
        exit_code=run.exit_code,
        complete=run.complete,
        crash=crash_of(report.crash),
        label=run.label,
        git=run.git,
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


def _throughput(throughput: Throughput, report: Report) -> document.Throughput:
    sps = throughput.steady_sps
    return document.Throughput(
        unit=throughput.unit,
        source=throughput.source,
        steady_sps=None if sps is None else document.Interval(*sps),
        total_steps=throughput.total_steps,
        series=[
            document.Rate(seconds(start), seconds(end), sps)
            for start, end, sps in throughput.series
        ],
        phases=_phases(report.phases),
    )


def _phases(phases: Sequence[Phase]) -> list[document.Phase]:
    return [
        document.Phase(phase.kind, seconds(phase.start_us), seconds(phase.end_us))
        for phase in phases
    ]


def _process(row: ProcessRow) -> document.Process:
    return document.Process(
        pid=row.pid,
        ppid=row.ppid,
        role=row.role,
        command=row.command,
        python=row.python,
        sampled=row.sampled,
        wall_s=row.wall_s,
        cpu_s=row.cpu_s,
        requested_hz=row.requested_hz,
        achieved_hz=row.achieved_hz,
        note=row.note,
        phases=_phases(row.phases),
    )


def _finding(priced: PricedFinding) -> document.Finding:
    finding = priced.finding
    low, high = priced.saved_us
    return document.Finding(
        id=finding.detector,
        rank=priced.rank,
        title=finding.title,
        phase=finding.phase,
        confidence=finding.confidence,
        process_roles=priced.process_roles,
        saved_share=document.Range(*priced.saved_share),
        sps_after=None if priced.sps_after is None else document.Range(*priced.sps_after),
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


def _bound(bound: Bound, rows: Sequence[ProcessRow]) -> document.Bound:
    pids = [rows[process].pid for process in bound.processes]
    return document.Bound(bound.by, pids, bound.share, bound.text)


def _component(row: Component) -> document.Component:
    return document.Component(
        name=row.name,
        marked=row.is_marked,
        share=row.share,
        cpu_per_step_s=seconds(row.per_step_us),
        parallel=row.parallel,
        ceiling_sps=row.ceiling_sps,
    )


def _wait(row: WaitRow) -> document.Wait:
    on = [document.WaitedFor(*process) for process in row.on]
    return document.Wait(row.pid, row.role, row.thread, row.kind, row.share, on)


def _resources(resources: Resources, rows: Sequence[ProcessRow]) -> document.Resources:
    return document.Resources(
        cores=resources.cores,
        used_cores=resources.used,
        queued_threads=resources.queued,
        native_cores=resources.native,
        saturated=resources.saturated,
        by_role=[document.RoleUse(*use) for use in resources.by_role],
        gpus=[_gpu(gpu, rows) for gpu in resources.gpus],
    )


def _gpu(gpu: GpuUse, rows: Sequence[ProcessRow]) -> document.Gpu:
    return document.Gpu(
        index=gpu.index,
        name=gpu.name,
        utilisation=gpu.utilisation,
        memory_bytes=gpu.memory_bytes,
        memory_total_bytes=gpu.memory_total_bytes,
        power_w=gpu.power_w,
        power_limit_w=gpu.power_limit_w,
        clock_share=gpu.clock_share,
        temperature_c=gpu.temperature_c,
        throttled_by_heat=gpu.throttled_by_heat,
        throttled_by_power=gpu.throttled_by_power,
        processes=[
            document.GpuProcess(rows[process].pid, rows[process].role, held)
            for process, held in gpu.process_bytes
        ],
    )


def _memory(memory: MemoryView, rows: Sequence[ProcessRow]) -> document.Memory:
    return document.Memory(
        peak_bytes=memory.peak_bytes,
        shared_counted_once=memory.is_shared_out,
        growth=_trend(memory.trend),
        bytes_per_step=memory.bytes_per_step,
        processes=[
            document.ProcessMemory(
                pid=rows[used.process].pid,
                role=used.role,
                peak_rss_bytes=used.peak_rss_bytes,
                peak_pss_bytes=used.peak_pss_bytes,
                growth=_trend(used.trend),
            )
            for used in memory.processes
        ],
        lines=[
            document.GrownLine(
                file=line.file,
                line=line.line,
                function=line.function,
                source=line.source,
                grown_bytes=line.grown_bytes,
                share_of_growth=line.share_of_growth,
            )
            for line in memory.lines
        ],
    )


def _trend(trend: MemoryTrend | None) -> document.Trend | None:
    if trend is None:
        return None
    return document.Trend(trend.bytes_per_hour, trend.low, trend.high, trend.is_steady)


def _quality(report: Report) -> document.Quality:
    cost = report.overhead
    overhead = document.Overhead(
        samplers_cpu_s=cost.samplers_cpu_s,
        recorder_cpu_s=cost.recorder_cpu_s,
        probe_cpu_s=cost.probe_cpu_s,
        torch_windows_cpu_s=cost.torch_windows_cpu_s,
        share_of_cores=cost.share_of_cores,
    )
    return document.Quality(overhead, notes_of(report.notes))


# --- torch: windows of its profiler, reads of tensors, operations ---------------------------


def torch_window(row: TorchWindowRow) -> document.TorchWindow:
    return document.TorchWindow(
        pid=row.pid,
        role=row.role,
        kind=row.kind,
        fate=row.fate,
        begun_s=row.begun_s,
        cost_s=row.cost_s,
        left_out=row.is_left_out,
        updates=row.updates,
        wall_s=row.wall_s,
        ops=row.ops,
        kernel_launches=row.launches,
        gpu_busy_share=row.busy_share,
        optimizer=row.optimizer,
        compiling_s=row.compiling_s,
        gpu_idle=dict(row.idle),
        heaviest_ops=[document.Operation(*op) for op in row.top_ops],
        heaviest_kernels=[document.Operation(*op) for op in row.top_kernels],
    )


def compute_of(compute: Compute | None) -> document.Compute | None:
    if compute is None:
        return None
    return document.Compute(
        flops_per_update=compute.flops_per_update,
        flops_per_s=compute.flops_per_s,
        precision=compute.precision,
        device=compute.device,
        utilisation=compute.utilisation,
    )


def sync_site(row: SyncSiteRow) -> document.SyncSite:
    return document.SyncSite(
        pid=row.pid,
        role=row.role,
        file=row.file,
        line=row.line,
        function=row.function,
        method=row.method,
        device=row.device,
        calls=row.calls,
        per_step=row.per_step,
        wait_s=row.wait_s,
        bytes=row.bytes,
    )


RENDERER: Final = Renderer(
    name="json",
    suffixes=(".json",),
    render=_render,
    options={"indent": "spaces per level, 0 for one line (default 2)"},
)
