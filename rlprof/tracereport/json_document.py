"""A trace as JSON. ``docs/trace.md`` describes the keys; within a version they are only added."""

from __future__ import annotations

from typing import Final

import rlprof
from rlprof.device.timeline import DeviceTimeline
from rlprof.device.transfers import Transfer
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.pricing.traces import TraceFindings
from rlprof.renderers.json_report.values import Json, as_json_text, number, seconds

FORMAT: Final = "rlprof-trace"
FORMAT_VERSION: Final = 1
"""1: the first."""


def trace_as_json(view: TraceView, findings: TraceFindings) -> str:
    every = (*findings.listed, *findings.also_seen)
    return as_json_text(
        {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "rlprof": rlprof.__version__,
            "wall_s": seconds(view.wall.length),
            "steps": view.step_count,
            "devices": [_device(device, view) for device in view.devices],
            "blocking_calls": {
                "count": len(view.blocking.calls),
                "wait_s": seconds(view.blocking.wait_us),
                "recoverable_s": seconds(view.blocking.recoverable_us),
                "sites": [
                    {
                        "file": it.site.file,
                        "line": it.site.line,
                        "function": it.site.function,
                        "op": it.site.outer_op,
                        "call": it.calls[0].name,
                        "count": len(it.calls),
                        "wait_s": seconds(it.wait_us),
                        "recoverable_s": seconds(it.recoverable_us),
                    }
                    for it in view.waits
                ],
            },
            "copies": [_transfer(it) for it in view.transfers],
            "idle_causes": {cause.value: seconds(view.idle_us(cause)) for cause in IdleCause},
            "kernels": {
                "count": view.kernels.count,
                "launches": view.kernels.launches,
                "lost_launches": view.kernels.lost_launches,
                "median_us": number(view.kernels.median_us),
                "short_share": number(view.kernels.short_share),
                "median_launch_delay_us": number(view.kernels.median_delay_us),
                "families": {name: number(part) for name, part in view.kernels.families.items()},
            },
            "optimizer": _optimizer(view),
            "compile": {
                "compiling_s": seconds(view.compiling.compiling_us),
                "regions": view.compiling.regions,
                "regions_per_call": number(view.compiling.regions_per_call),
                "recompiled": view.compiling.recompiled,
            },
            "findings": [
                _finding(it, rank, view, is_listed=rank <= len(findings.listed))
                for rank, it in enumerate(every, start=1)
            ],
            "notes": [
                {"level": note.level, "slug": note.slug, "text": note.text}
                for note in (*findings.failures.values(), *view.notes)
            ],
        },
        is_rounded=True,
    )


def _device(device: DeviceTimeline, view: TraceView) -> dict[str, Json]:
    wall = view.wall.length
    return {
        "id": device.id,
        "name": device.name,
        "wall_s": seconds(wall),
        "busy_s": seconds(device.busy_us),
        "idle_share": number(1 - device.busy_us / wall if wall else 0.0),
        "span_s": seconds(device.span.length),
        "kernels": device.kernels,
        "short_kernel_share": number(device.short_kernels / max(1, device.kernels)),
        "streams": device.streams,
    }


def _transfer(it: Transfer) -> dict[str, Json]:
    return {
        "direction": it.direction,
        "memory": it.memory,
        "count": it.count,
        "bytes": it.bytes,
        "host_s": seconds(it.host_us),
        "device_s": seconds(it.device_us),
    }


def _optimizer(view: TraceView) -> dict[str, Json] | None:
    facts = view.optimizer
    if facts is None:
        return None
    return {
        "name": facts.name,
        "kind": facts.kind.value,
        "steps": facts.steps,
        "host_s": seconds(facts.host_us),
        "launches_per_step": number(facts.launches_per_step),
    }


def _finding(it: DeviceFinding, rank: int, view: TraceView, *, is_listed: bool) -> dict[str, Json]:
    wall = view.wall.length
    return {
        "id": it.detector,
        "rank": rank,
        "listed": is_listed,
        "title": it.title,
        "confidence": it.confidence.value,
        "saved_share": {
            "low": number(it.saved_us.low / wall),
            "high": number(it.saved_us.high / wall),
        },
        "saved_s": {"low": seconds(it.saved_us.low), "high": seconds(it.saved_us.high)},
        "locations": [
            {
                "file": place.file,
                "line": place.line,
                "function": place.function,
                "op": place.op,
                "count": place.count,
                "time_s": seconds(place.time_us),
            }
            for place in it.places
        ],
        "evidence": list(it.evidence),
        "fix": it.fix,
    }
