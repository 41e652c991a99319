"""A trace in Chrome's format, for Perfetto: processes, phases, findings, samples and torch's events on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Final

import msgspec

from rlprof import units
from rlprof.model.detail import Detail
from rlprof.model.report import Report
from rlprof.names import printable
from rlprof.renderers.base import Renderer
from rlprof.renderers.chrome.boxes import sample_tracks, thinnest_share
from rlprof.renderers.chrome.events import Numbers
from rlprof.renderers.chrome.run_tracks import all_process_tracks, run_tracks
from rlprof.renderers.chrome.torch_tracks import placed_windows, read_windows, torch_tracks
from rlprof.report.thread_stacks import caveats, threads_with_time, wants

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
    numbers = Numbers()
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
