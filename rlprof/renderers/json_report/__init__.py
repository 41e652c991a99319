"""The report as JSON, for programs.

Values that are not finite become ``null``; lone surrogates (of paths that are not UTF-8) are
spelled out, since strict readers refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rlprof.documents.json import as_json_text, filled, seconds
from rlprof.errors import UsageError
from rlprof.model.activity import Bound
from rlprof.model.finding import PricedFinding
from rlprof.model.memory import MemoryView
from rlprof.model.profile import GpuUse, Throughput
from rlprof.model.report import (
    ProcessRow,
    Report,
    Resources,
    TorchWindowRow,
)
from rlprof.renderers.base import Renderer
from rlprof.renderers.json_report import document, usage

_MOST_DIGITS: Final = 2
"""Most digits of the number of columns: each line begins with a multiple of them."""


def _render(report: Report, options: Mapping[str, str]) -> str:
    indent = _indent(options.get("indent", "2"))
    return as_json_text(report_as_json(report), indent=indent)


def report_as_json(report: Report) -> document.ReportDocument:
    rows = report.processes
    return filled(
        document.ReportDocument,
        report,
        format="rlprof-report",
        version=1,
        rlprof=report.run.rlprof_version,
        run=_run(report),
        throughput=_throughput(report.throughput, report),
        findings=[_finding(priced, report.throughput) for priced in report.findings],
        also_seen=[_finding(priced, report.throughput) for priced in report.also_seen],
        experiments=[
            filled(document.Experiment, tried, location=filled(document.TriedPlace, tried))
            for tried in report.experiments
        ],
        bound_by=_bound(report.bound, rows),
        waits=[
            filled(document.Wait, row, on=[document.WaitedFor(*process) for process in row.on])
            for row in report.waits
        ],
        resources=None if report.resources is None else _resources(report.resources, rows),
        memory=None if report.memory is None else _memory(report.memory, rows),
        torch_windows=[_torch_window(row) for row in report.torch_windows],
        counters_per_step=dict(report.counters_per_step),
        quality=filled(document.Quality, report),
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
        left_out_s=seconds(report.left_out_us),
        crash=report.crash,
        hang=report.hang,
        host=dict(run.host),
        file=report.run_file or None,
    )


def _throughput(throughput: Throughput, report: Report) -> document.Throughput:
    counts_steps = throughput.unit == "steps"
    return filled(
        document.Throughput,
        throughput,
        steady_sps=throughput.steps_per_s,
        steady_rate=throughput.steady_sps,
        series=[
            document.Rate(
                seconds(start), seconds(end), sps=made if counts_steps else None, rate=made
            )
            for start, end, made in throughput.series
        ],
        phases=report.phases,
    )


def _finding(priced: PricedFinding, throughput: Throughput) -> document.Finding:
    finding = priced.finding
    low, high = priced.saved_us
    return filled(
        document.Finding,
        finding,
        id=finding.detector,
        rank=priced.rank,
        process_roles=priced.process_roles,
        saved_share=priced.saved_share,
        likely_share=priced.likely_share,
        added_share=priced.added_share,
        sps_after=priced.sps_after if throughput.unit == "steps" else None,
        rate_after=priced.sps_after,
        counted_in=priced.counted_in,
        saved_s=seconds((low + high) / 2),
        saved_s_range=document.Range(seconds(low), seconds(high)),
        docs=f"docs/detectors/{finding.detector}.md",
    )


def _bound(bound: Bound, rows: Sequence[ProcessRow]) -> document.Bound:
    pids = [rows[process].pid for process in bound.processes]
    return filled(document.Bound, bound, kind=bound.by, pids=pids)


def _resources(resources: Resources, rows: Sequence[ProcessRow]) -> usage.Resources:
    return filled(
        usage.Resources,
        resources,
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
        processes=[
            filled(usage.ProcessMemory, used, pid=rows[used.process].pid)
            for used in memory.processes
        ],
    )


# --- torch: windows of its profiler, reads of tensors, operations ---------------------------


def _torch_window(row: TorchWindowRow) -> usage.TorchWindow:
    return filled(
        usage.TorchWindow,
        row,
        gpu_idle=dict(row.idle),
    )


RENDERER: Final = Renderer(
    name="json",
    suffixes=(".json",),
    render=_render,
    options={"indent": "spaces per level, 0 for one line (default 2)"},
)
