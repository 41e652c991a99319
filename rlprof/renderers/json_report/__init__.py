"""The report as JSON, for programs. ``report.schema.json`` in the folder above describes it.

Within a format version keys are only ever added. Values that are not finite become
``null``; lone surrogates (of paths that are not UTF-8) are spelled out, since strict
readers refuse them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.activity import Bound, Component
from rlprof.model.crash import Crash
from rlprof.model.finding import Location, PricedFinding, Range
from rlprof.model.gpus import GpuUse
from rlprof.model.memory import MemoryTrend, MemoryView
from rlprof.model.profile import Interval, Phase, Throughput
from rlprof.model.report import ProcessRow, Report, Resources, WaitRow
from rlprof.renderers.json_report.torch import compute_of, sync_site, torch_window
from rlprof.renderers.json_report.values import Json, as_json_text, known, number, seconds

FORMAT: Final = "rlprof-report"
FORMAT_VERSION: Final = 1
"""1: the first."""


@dataclass(frozen=True)
class JsonRenderer:
    name: str = "json"
    suffixes: tuple[str, ...] = (".json",)
    options: Mapping[str, str] = field(
        default_factory=lambda: {"indent": "spaces per level, 0 for one line (default 2)"}
    )
    is_export: bool = False
    needs_detail: bool = False

    def render(self, report: Report, options: Mapping[str, str]) -> str:
        indent = _indent(options.get("indent", "2"))
        return as_json_text(report_as_json(report), indent=indent)


def report_as_json(report: Report) -> dict[str, Json]:
    """The document, as plain values."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "rlprof": report.run.rlprof_version,
        "run": _run(report),
        "throughput": _throughput(report.throughput, report),
        "processes": [_process(row) for row in report.processes],
        "findings": [_finding(priced) for priced in report.findings],
        "also_seen": [_finding(priced) for priced in report.also_seen],
        "bound_by": _bound(report.bound, report.processes),
        "components": [_component(row) for row in report.components],
        "waits": [_wait(row) for row in report.waits],
        "resources": _resources(report.resources, report.processes),
        "memory": _memory(report.memory, report.processes),
        "torch_windows": [torch_window(row) for row in report.torch_windows],
        "compute": compute_of(report.compute),
        "sync_sites": [sync_site(row) for row in report.sync_sites],
        "counters_per_step": {name: number(value) for name, value in report.counters_per_step},
        "quality": _quality(report),
    }


def _indent(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(
            f"the option indent of the JSON report is {text!r}",
            slug="bad-render-option",
            hint="give a whole number, for example -p indent=0",
        )
    return int(text)


def _run(report: Report) -> dict[str, Json]:
    run = report.run
    started = datetime.fromtimestamp(run.started_unix_s, tz=timezone.utc)
    return {
        "id": run.id,
        "command": list(run.command),
        "script": run.script,
        "cwd": run.cwd,
        "started": started.isoformat(timespec="seconds"),
        "wall_s": seconds(run.wall_us),
        "exit_code": run.exit_code,
        "complete": run.complete,
        "crash": crash_as_json(report.crash),
        "label": run.label,
        "git": run.git,
        "host": dict(run.host),
        "file": report.run_file or None,
    }


def crash_as_json(crash: Crash | None) -> dict[str, Json] | None:
    if crash is None:
        return None
    return {
        "exit_code": crash.exit_code,
        "workers": [
            {
                "pid": worker.pid,
                "role": worker.role,
                "exit_code": worker.exit_code,
                "ended_s": seconds(worker.ended_us),
            }
            for worker in crash.workers
        ],
        "before_steady": crash.before_steady,
    }


def _throughput(throughput: Throughput, report: Report) -> dict[str, Json]:
    return {
        "unit": throughput.unit,
        "source": throughput.source,
        "steady_sps": _interval(throughput.steady_sps),
        "total_steps": number(throughput.total_steps),
        "series": [
            {"start_s": seconds(start), "end_s": seconds(end), "sps": number(sps)}
            for start, end, sps in throughput.series
        ],
        "phases": [_phase(phase) for phase in report.phases],
    }


def _phase(phase: Phase) -> dict[str, Json]:
    return {
        "name": phase.kind.value,
        "start_s": seconds(phase.start_us),
        "end_s": seconds(phase.end_us),
    }


def _process(row: ProcessRow) -> dict[str, Json]:
    return {
        "pid": row.pid,
        "ppid": row.ppid,
        "role": row.role,
        "command": row.command,
        "python": row.python,
        "sampled": row.sampled,
        "wall_s": number(row.wall_s),
        "cpu_s": number(row.cpu_s),
        "requested_hz": number(row.requested_hz),
        "achieved_hz": number(row.achieved_hz),
        "note": row.note,
        "phases": [_phase(phase) for phase in row.phases],
    }


def _finding(priced: PricedFinding) -> dict[str, Json]:
    finding = priced.finding
    return {
        "id": finding.detector,
        "rank": priced.rank,
        "title": finding.title,
        "phase": finding.phase.value,
        "confidence": finding.confidence.value,
        "process_roles": list(priced.process_roles),
        "saved_share": _range(priced.saved_share),
        "sps_after": _range(priced.sps_after),
        "counted_in": priced.counted_in,
        "saved_s": seconds((priced.saved_us.low + priced.saved_us.high) / 2),
        "saved_s_range": {
            "low": seconds(priced.saved_us.low),
            "high": seconds(priced.saved_us.high),
        },
        "locations": [_location(location) for location in finding.locations],
        "evidence": list(finding.evidence),
        "fix": finding.fix,
        "docs": f"docs/detectors/{finding.detector}.md",
    }


def _location(location: Location) -> dict[str, Json]:
    return {
        "file": location.file,
        "line": location.line,
        "function": location.function,
        "share": number(location.share),
        "source": location.source,
    }


def _bound(bound: Bound, processes: Sequence[ProcessRow]) -> dict[str, Json]:
    return {
        "kind": bound.by.value,
        "pids": [processes[process].pid for process in bound.processes],
        "share": number(bound.share),
        "text": bound.text,
    }


def _component(row: Component) -> dict[str, Json]:
    return {
        "name": row.name,
        "marked": row.is_marked,
        "share": number(row.share),
        "cpu_per_step_s": seconds(row.per_step_us),
        "parallel": number(row.parallel),
        "ceiling_sps": None if row.ceiling_sps is None else number(row.ceiling_sps),
    }


def _wait(row: WaitRow) -> dict[str, Json]:
    return {
        "pid": row.pid,
        "role": row.role,
        "thread": row.thread,
        "kind": row.kind,
        "share": number(row.share),
        "on": [{"pid": pid, "role": role, "part": number(part)} for pid, role, part in row.on],
    }


def _resources(resources: Resources | None, rows: Sequence[ProcessRow]) -> dict[str, Json] | None:
    if resources is None:
        return None
    return {
        "cores": number(resources.cores),
        "used_cores": number(resources.used),
        "queued_threads": number(resources.queued),
        "native_cores": number(resources.native),
        "saturated": resources.saturated,
        "by_role": [
            {"role": role, "processes": members, "cores": number(used)}
            for role, members, used in resources.by_role
        ],
        "gpus": [_gpu(gpu, rows) for gpu in resources.gpus],
    }


def _gpu(gpu: GpuUse, rows: Sequence[ProcessRow]) -> dict[str, Json]:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "utilisation": known(gpu.utilisation),
        "memory_bytes": known(gpu.memory_bytes),
        "memory_total_bytes": known(gpu.memory_total_bytes),
        "power_w": known(gpu.power_w),
        "power_limit_w": known(gpu.power_limit_w),
        "clock_share": known(gpu.clock_share),
        "temperature_c": known(gpu.temperature_c),
        "throttled_by_heat": known(gpu.throttled_by_heat),
        "throttled_by_power": known(gpu.throttled_by_power),
        "processes": [
            {"pid": rows[process].pid, "role": rows[process].role, "memory_bytes": number(held)}
            for process, held in gpu.process_bytes
        ],
    }


def _memory(memory: MemoryView | None, rows: Sequence[ProcessRow]) -> dict[str, Json] | None:
    if memory is None:
        return None
    return {
        "peak_bytes": number(memory.peak_bytes),
        "shared_counted_once": memory.is_shared_out,
        "growth": _trend(memory.trend),
        "bytes_per_step": None if memory.bytes_per_step is None else number(memory.bytes_per_step),
        "processes": [
            {
                "pid": rows[it.process].pid,
                "role": it.role,
                "peak_rss_bytes": number(it.peak_rss_bytes),
                "peak_pss_bytes": None if it.peak_pss_bytes is None else number(it.peak_pss_bytes),
                "growth": _trend(it.trend),
            }
            for it in memory.processes
        ],
        "lines": [
            {
                "file": it.file,
                "line": it.line,
                "function": it.function,
                "source": it.source,
                "grown_bytes": it.grown_bytes,
                "share_of_growth": number(it.share_of_growth),
            }
            for it in memory.lines
        ],
    }


def _trend(trend: MemoryTrend | None) -> dict[str, Json] | None:
    if trend is None:
        return None
    return {
        "bytes_per_hour": number(trend.bytes_per_hour),
        "low": number(trend.low),
        "high": number(trend.high),
        "steady": trend.is_steady,
    }


def _quality(report: Report) -> dict[str, Json]:
    overhead = report.overhead
    return {
        "overhead": {
            "samplers_cpu_s": number(overhead.samplers_cpu_s),
            "recorder_cpu_s": number(overhead.recorder_cpu_s),
            "probe_cpu_s": number(overhead.probe_cpu_s),
            "torch_windows_cpu_s": number(overhead.torch_windows_cpu_s),
            "share_of_cores": number(overhead.share_of_cores),
        },
        "notes": [
            {"level": note.level, "slug": note.slug, "text": note.text} for note in report.notes
        ],
    }


def _interval(interval: Interval | None) -> Json:
    if interval is None:
        return None
    return {
        "median": number(interval.median),
        "low": number(interval.low),
        "high": number(interval.high),
    }


def _range(bounds: Range | None) -> Json:
    if bounds is None:
        return None
    return {"low": number(bounds.low), "high": number(bounds.high)}


RENDERER: Final = JsonRenderer()
