"""Tell what a page shows of torch: windows of its profiler, the heaviest operations, and reads of tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from rlprof.model.report import Report, SyncSiteRow, TorchOp, TorchWindowRow
from rlprof.names import cut_middle, printable, short_line
from rlprof.renderers.html.document import View
from rlprof.renderers.html.drawings import BarPart, bar
from rlprof.report import wording
from rlprof.report.wording.facts import IDLE_CAUSES, WINDOW_FATES

_CAUSES: Final = {cause.value: words for cause, words in IDLE_CAUSES.items()}

KINDS: Final = {
    "plain": "updates",
    "stacks": "updates, with Python stacks",
    "rollout": "from updates into the rollout",
    "timed": "a stretch of time",
}

MOST_OPS: Final = 12
LEAST_CAUSE: Final = 0.001
"""Part of a window below which a cause is not named."""

_PATH_LIMIT: Final = 60


def window_views(report: Report) -> list[View]:
    return [_window(row) for row in report.torch_windows]


def legend() -> list[tuple[str, str]]:
    """(class, words) of the colours in the bars of windows."""
    return [("busy", "busy"), *((_look(cause), words) for cause, words in _CAUSES.items())]


def _look(cause: str) -> str:
    return f"idle-{cause.replace('_', '-')}"


def _window(row: TorchWindowRow) -> View:
    idle = sorted(row.idle, key=lambda pair: -pair[1])
    return {
        "process": f"{row.role} {row.pid}",
        "kind": KINDS.get(row.kind, row.kind),
        "begun": wording.duration(row.begun_s * 1e6),
        "length": wording.duration(row.wall_s * 1e6) if row.wall_s else "",
        "fate": "read" if row.fate == "written" else WINDOW_FATES.get(row.fate, row.fate),
        "busy": wording.percent(row.busy_share) if row.busy_share is not None else "",
        "bar": _bar(row) if row.busy_share is not None else None,
        "causes": tuple(
            (_CAUSES.get(cause, cause), wording.percent(share))
            for cause, share in idle
            if share >= LEAST_CAUSE
        ),
        "made_of": tuple(_made_of(row)),
    }


def _made_of(row: TorchWindowRow) -> Iterator[str]:
    for number, what in ((row.ops, "ops"), (row.launches, "kernels")):
        if number and row.updates:
            each = float(f"{number / row.updates:.3g}")
            yield f"{wording.count(each)} {what} per update"
        elif number:
            yield f"{wording.count(number)} {what}"
    if row.optimizer:
        yield row.optimizer
    if row.compiling_s:
        yield f"{wording.duration(row.compiling_s * 1e6)} compiling"


def _bar(row: TorchWindowRow) -> Markup:
    parts = [BarPart(0.0, row.busy_share or 0.0, "busy")]
    for cause, share in row.idle:
        parts.append(BarPart(parts[-1].end, parts[-1].end + share, _look(cause)))
    return bar(parts, "device")


# --- the heaviest operations ---------------------------------------------------------------


def heaviest_ops(report: Report) -> list[View]:
    """Operations that the program called, by the host's time in them, over all windows."""
    return _summed([operator for row in report.torch_windows for operator in row.top_ops], report)


def heaviest_kernels(report: Report) -> list[View]:
    return _summed([kernel for row in report.torch_windows for kernel in row.top_kernels], report)


def _summed(ops: Sequence[TorchOp], report: Report) -> list[View]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for op in ops:
        sums[op.name][0] += op.calls
        sums[op.name][1] += op.time_s
    whole = sum(row.wall_s for row in report.torch_windows)
    heaviest = sorted(sums.items(), key=lambda pair: (-pair[1][1], pair[0]))[:MOST_OPS]
    return [
        {
            "name": cut_middle(printable(name), 90),
            "calls": wording.count(count),
            "time": wording.duration(seconds * 1e6),
            "share": wording.percent(seconds / whole) if whole else "",
        }
        for name, (count, seconds) in heaviest
    ]


# --- reads of tensors ----------------------------------------------------------------------


def site_views(report: Report) -> list[View]:
    return [_site(row, report) for row in report.sync_sites]


def _site(row: SyncSiteRow, report: Report) -> View:
    return {
        "at": short_line(row.file, row.line, report.run.cwd, _PATH_LIMIT),
        "function": row.function,
        "method": row.method,
        "process": f"{row.role} {row.pid}",
        "device": "GPU" if row.device == "gpu" else "CPU",
        "calls": wording.count(row.calls),
        "per_step": wording.count(float(f"{row.per_step:.2g}")) if row.per_step is not None else "",
        "waited": wording.duration(row.wait_s * 1e6) if row.wait_s else "",
        "size": wording.size(row.bytes) if row.bytes else "",
    }
