"""The file format of speedscope: a profile for each thread of each process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from rlprof.model.detail import Detail
from rlprof.model.recording import Frame
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.base import Renderer
from rlprof.report.thread_stacks import (
    LINES_HELP,
    METRIC_HELP,
    StackPaths,
    ThreadStacks,
    caveats,
    chosen_metric,
    frame_title,
    threads_with_time,
    wants,
)

SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


def _render(report: Report, options: Mapping[str, str]) -> str:
    metric = chosen_metric(options)
    frames = _FrameTable(report.run.cwd, with_lines=wants("lines", options))
    threads = list(threads_with_time(report))
    profiles = [
        profile
        for thread in threads
        if (profile := _profile(thread, metric, report.detail or Detail(), frames))["samples"]
    ]
    name = printable(report.run.label or report.run.script) or "a run"
    document = {
        "$schema": SCHEMA,
        "version": "0.0.1",
        "exporter": f"rlprof@{printable(report.run.rlprof_version)}",
        "name": name if metric == "wall" else f"{name}: {metric} time",
        "activeProfileIndex": _bound_by(report, profiles),
        # The format has no place for remarks: readers pass over keys that they do not know.
        "rlprof": {"notes": caveats(report)},
    }
    # speedscope refuses a file without profiles.
    return _written(document, frames, profiles or [_nothing(report)])


class _FrameTable:
    """Every frame once; stacks refer to it by number."""

    def __init__(self, cwd: str, *, with_lines: bool) -> None:
        self._cwd = cwd
        self._with_lines = with_lines
        self._numbers: dict[Frame, int] = {}

    def number(self, frame: Frame) -> int:
        key = frame if self._with_lines else frame._replace(line=0)
        return self._numbers.setdefault(key, len(self._numbers))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for frame in self._numbers:
            shown: dict[str, Any] = {"name": frame_title(frame, self._cwd)}
            if frame.file:
                shown["file"] = printable(frame.file)
            if frame.line > 0:
                shown["line"] = frame.line
            yield shown


def _profile(
    thread: ThreadStacks, metric: str, detail: Detail, frames: _FrameTable
) -> dict[str, Any]:
    paths = StackPaths(detail.nodes)
    number_of = cache(lambda node: frames.number(detail.nodes[node].frame))
    # Within a slice in the order of the tree: what is below one caller is one box then.
    samples = sorted(
        (time.slice, paths.to(time.node), time.of(metric))
        for time in thread.times
        if time.of(metric) > 0
    )
    weights = [weight for _, _, weight in samples]
    start = detail.slices[samples[0][0]].start_us if samples else 0
    return {
        "type": "sampled",
        "name": f"{thread.process_name}, {thread.name}",
        "unit": "microseconds",
        "startValue": start,
        "endValue": start + sum(weights),
        "samples": [[number_of(node) for node in path] for _, path, _ in samples],
        "weights": weights,
    }


def _nothing(report: Report) -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": caveats(report)[0] if caveats(report) else "no time of this kind was seen",
        "unit": "microseconds",
        "startValue": 0,
        "endValue": 0,
        "samples": [],
        "weights": [],
    }


def _bound_by(report: Report, profiles: list[dict[str, Any]]) -> int:
    """The first thread of the process that bounds the run: what speedscope shows at first."""
    pids = [report.processes[process].pid for process in report.bound.processes]
    for number, profile in enumerate(profiles):
        if any(f", pid {pid}, " in profile["name"] for pid in pids):
            return number
    return 0


def _written(document: dict[str, Any], frames: _FrameTable, profiles: list[dict[str, Any]]) -> str:
    """A line for each frame and each profile: large, but not one line of megabytes."""
    encode = msgspec.json.encode
    head = encode(document).decode()
    listed_frames = ",\n".join(encode(frame).decode() for frame in frames)
    listed = ",\n".join(encode(profile).decode() for profile in profiles)
    return (
        f'{head[:-1]},\n"shared":{{"frames":[\n{listed_frames}\n]}},\n"profiles":[\n{listed}\n]}}\n'
    )


RENDERER: Final = Renderer(
    name="speedscope",
    suffixes=(".speedscope.json",),
    render=_render,
    options={"metric": METRIC_HELP, "lines": LINES_HELP},
    is_export=True,
    needs_detail=True,
)
