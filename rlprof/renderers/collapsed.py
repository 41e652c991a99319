"""Collapsed stacks, a line each: what ``flamegraph.pl`` and many other tools read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from rlprof.model.detail import Detail
from rlprof.model.recording import Frame
from rlprof.model.report import Report
from rlprof.names import printable, short_path
from rlprof.renderers.base import Renderer
from rlprof.report.thread_stacks import (
    LINES_HELP,
    METRIC_HELP,
    StackPaths,
    caveats,
    chosen_metric,
    frame_name,
    threads_with_time,
    wants,
)


def _render(report: Report, options: Mapping[str, str]) -> str:
    metric = chosen_metric(options)
    lines = list(_stacks(report, metric, with_lines=wants("lines", options)))
    remarks = list(_remarks(report, metric)) if wants("notes", options) else []
    return "".join(f"{line}\n" for line in (*remarks, *lines))


def _remarks(report: Report, metric: str) -> Iterator[str]:
    """Yield lines that no reader takes for a stack: those end in a number, with a point or without."""
    for text in (f"rlprof: {metric} time in µs, whole run.", *caveats(report)):
        yield f"# {text} #"


def _stacks(report: Report, metric: str, *, with_lines: bool) -> Iterator[str]:
    detail = report.detail or Detail()
    paths = StackPaths(detail.nodes)
    texts: dict[Frame, str] = {}
    for thread in threads_with_time(report):
        top = f"{_cell(thread.process_name.replace(', pid', ''))};{_cell(thread.name)}"
        by_node: dict[int, int] = defaultdict(int)
        for time in thread.times:
            by_node[time.node] += time.of(metric)
        summed: dict[str, int] = defaultdict(int)
        for node, us in by_node.items():
            cells = [top]
            for each in paths.to(node):
                frame = detail.nodes[each].frame
                if frame not in texts:
                    texts[frame] = _frame(frame, report.run.cwd, with_lines=with_lines)
                cells.append(texts[frame])
            summed[";".join(cells)] += us
        for stack in sorted(summed):
            if summed[stack] > 0:
                yield f"{stack} {summed[stack]}"


def _frame(frame: Frame, cwd: str, *, with_lines: bool) -> str:
    if not frame.file:
        return _cell(frame_name(frame))
    line = f":{frame.line}" if with_lines else ""
    return _cell(f"{short_path(frame.file, cwd)}:{frame_name(frame)}{line}")


def _cell(text: str) -> str:
    """``text`` without what ends a cell or a line."""
    return printable(text).replace(";", ",")


RENDERER: Final = Renderer(
    name="collapsed",
    suffixes=(".collapsed", ".folded"),
    render=_render,
    options={
        "metric": METRIC_HELP,
        "lines": LINES_HELP,
        "notes": "yes (default): what was not seen, as lines that begin with #; or no",
    },
    is_export=True,
    needs_detail=True,
)
