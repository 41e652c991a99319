"""The report as JSON, for programs. ``report.schema.json`` beside this file describes it.

Within a format version keys are only ever added. Values that are not finite become
``null``; lone surrogates (of paths that are not UTF-8) are spelled out, since strict
readers refuse them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Final

from rlprof.errors import UsageError
from rlprof.model.activity import Bound, Component
from rlprof.model.finding import Location, PricedFinding, Range
from rlprof.model.gpus import GpuUse
from rlprof.model.memory import MemoryTrend, MemoryView
from rlprof.model.profile import Interval, Phase, Throughput
from rlprof.model.report import (
    Compute,
    ProcessRow,
    Report,
    Resources,
    SyncSiteRow,
    TorchWindowRow,
    WaitRow,
)

FORMAT: Final = "rlprof-report"
FORMAT_VERSION: Final = 1
"""1: the first."""

_DIGITS: Final = 6
"""Significant digits of a measured value: more than any measurement here has."""

_UNUSUAL = re.compile(r"[^\n\x20-\x7e]")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class JsonRenderer:
    name: str = "json"
    suffixes: tuple[str, ...] = (".json",)
    options: Mapping[str, str] = field(
        default_factory=lambda: {"indent": "spaces per level, 0 for one line (default 2)"}
    )

    def render(self, report: Report, options: Mapping[str, str]) -> str:
        indent = _indent(options.get("indent", "2"))
        return as_json_text(report_as_json(report), indent=indent)


def as_json_text(document: Mapping[str, Json], *, indent: int = 2) -> str:
    """``document`` as text that strict readers take; with ``indent`` 0 on one line."""
    text = json.dumps(document, indent=indent or None, ensure_ascii=False, allow_nan=False)
    return _UNUSUAL.sub(_spelled_out, text) + "\n"


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
        "torch_windows": [_torch_window(row) for row in report.torch_windows],
        "compute": _compute(report.compute),
        "sync_sites": [_sync_site(row) for row in report.sync_sites],
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


def _spelled_out(match: re.Match[str]) -> str:
    """A character as a JSON escape when it is not printable; a lone surrogate as its name."""
    character = match[0]
    if character.isprintable():
        return character
    escaped = json.dumps(character)[1:-1]
    return f"\\{escaped}" if "\ud800" <= character <= "\udfff" else escaped


def _run(report: Report) -> dict[str, Json]:
    run = report.run
    started = datetime.fromtimestamp(run.started_unix_s, tz=timezone.utc)
    return {
        "id": run.id,
        "command": list(run.command),
        "script": run.script,
        "cwd": run.cwd,
        "started": started.isoformat(timespec="seconds"),
        "wall_s": _seconds(run.wall_us),
        "exit_code": run.exit_code,
        "complete": run.complete,
        "label": run.label,
        "git": run.git,
        "host": dict(run.host),
        "file": report.run_file or None,
    }


def _throughput(throughput: Throughput, report: Report) -> dict[str, Json]:
    return {
        "unit": throughput.unit,
        "source": throughput.source,
        "steady_sps": _interval(throughput.steady_sps),
        "total_steps": number(throughput.total_steps),
        "series": [
            {"start_s": _seconds(start), "end_s": _seconds(end), "sps": number(sps)}
            for start, end, sps in throughput.series
        ],
        "phases": [_phase(phase) for phase in report.phases],
    }


def _phase(phase: Phase) -> dict[str, Json]:
    return {
        "name": phase.kind.value,
        "start_s": _seconds(phase.start_us),
        "end_s": _seconds(phase.end_us),
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
        "saved_s": _seconds((priced.saved_us.low + priced.saved_us.high) / 2),
        "saved_s_range": {
            "low": _seconds(priced.saved_us.low),
            "high": _seconds(priced.saved_us.high),
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
        "cpu_per_step_s": _seconds(row.per_step_us),
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
        "utilisation": _known(gpu.utilisation),
        "memory_bytes": _known(gpu.memory_bytes),
        "memory_total_bytes": _known(gpu.memory_total_bytes),
        "power_w": _known(gpu.power_w),
        "power_limit_w": _known(gpu.power_limit_w),
        "clock_share": _known(gpu.clock_share),
        "temperature_c": _known(gpu.temperature_c),
        "throttled_by_heat": _known(gpu.throttled_by_heat),
        "throttled_by_power": _known(gpu.throttled_by_power),
        "processes": [
            {"pid": rows[process].pid, "role": rows[process].role, "memory_bytes": number(held)}
            for process, held in gpu.process_bytes
        ],
    }


def _known(value: float | None) -> Json:
    return None if value is None else number(value)


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


def _torch_window(row: TorchWindowRow) -> dict[str, Json]:
    return {
        "pid": row.pid,
        "role": row.role,
        "kind": row.kind,
        "fate": row.fate,
        "begun_s": number(row.begun_s),
        "cost_s": number(row.cost_s),
        "left_out": row.is_left_out,
        "updates": row.updates,
        "wall_s": number(row.wall_s),
        "ops": row.ops,
        "kernel_launches": row.launches,
        "gpu_busy_share": _known(row.busy_share),
        "optimizer": row.optimizer,
        "compiling_s": number(row.compiling_s),
    }


def _compute(compute: Compute | None) -> dict[str, Json] | None:
    if compute is None:
        return None
    return {
        "flops_per_update": number(compute.flops_per_update),
        "flops_per_s": number(compute.flops_per_s),
        "precision": compute.precision,
        "device": compute.device,
        "utilisation": _known(compute.utilisation),
    }


def _sync_site(row: SyncSiteRow) -> dict[str, Json]:
    return {
        "pid": row.pid,
        "role": row.role,
        "file": row.file,
        "line": row.line,
        "function": row.function,
        "method": row.method,
        "device": row.device,
        "calls": row.calls,
        "per_step": _known(row.per_step),
        "wait_s": number(row.wait_s),
        "bytes": row.bytes,
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


def _seconds(us: float) -> Json:
    return number(us / 1_000_000)


def number(value: float) -> Json:
    """``value`` rounded to what can be known; whole numbers stay whole; infinite ones are null."""
    if not math.isfinite(value):
        return None
    if value == int(value):
        return int(value)
    return float(f"{value:.{_DIGITS}g}")


RENDERER: Final = JsonRenderer()
