"""torch in words: the windows of its profiler, and reads of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rlprof.model.report import Compute, Report, SyncSiteRow, TorchWindowRow
from rlprof.names import cut_middle, printable, short_path
from rlprof.report import wording

MOST_SITES: Final = 3
LEAST_PER_STEP: Final = 0.001
"""Reads per step below which they are of the logging."""

_FATES: Final = {
    "given-up": "given up: the program started a profiler of its own",
    "failed": "failed",
    "lost": "lost: the process ended in it",
    "unreadable": "not readable",
}


def torch_lines(report: Report) -> Iterable[tuple[str, str]]:
    """Yield (name, text) of the rows; none for a run without torch."""
    if report.torch_windows:
        yield "torch", _windows(report.torch_windows)
    if report.compute is not None:
        yield "Compute", _compute(report.compute)
    waiting = [row for row in report.sync_sites if row.device == "gpu"]
    if waiting:
        yield "GPU waits", _reads(waiting, report) + "; what of it can be saved is in the findings"
    elif would := [row for row in report.sync_sites if (row.per_step or 0.0) >= LEAST_PER_STEP]:
        yield (
            "Reads",
            "free on the CPU; each would wait if its tensor were on a GPU: "
            + _reads(would, report),
        )


def _windows(rows: tuple[TorchWindowRow, ...]) -> str:
    cost = sum(row.cost_s for row in rows)
    number = wording.counted(len(rows), "window", "windows")
    figures = "left out of every figure"
    if not all(row.is_left_out for row in rows):
        figures = "in the figures, for the run is short: its own pace is higher"
    parts = [f"{number} of its profiler, {wording.duration(cost * 1e6)}, {figures}"]
    parts += [_FATES[row.fate] for row in rows if row.fate in _FATES]
    told = next((row for row in rows if row.updates and row.ops), None)
    if told is not None:
        each = f"{wording.count(round(told.ops / told.updates))} ops"
        if told.launches:
            each += f" and {wording.count(round(told.launches / told.updates))} kernels"
        optimizer = f" with {printable(told.optimizer)}" if told.optimizer else ""
        parts.append(f"{each} per update{optimizer}")
    busy = [row.busy_share for row in rows if row.busy_share is not None and row.kind != "stacks"]
    if busy:
        low, high = wording.percent(min(busy)), wording.percent(max(busy))
        parts.append(f"GPU busy for {low if low == high else f'{low} to {high}'} of them")
    compiling = sum(row.compiling_s for row in rows)
    if compiling:
        parts.append(f"{wording.duration(compiling * 1e6)} in torch.compile")
    return "; ".join(parts)


def _compute(compute: Compute) -> str:
    text = (
        f"{wording.flops(compute.flops_per_update)} per update, "
        f"{wording.flops(compute.flops_per_s)}/s on average"
    )
    if compute.utilisation is not None:
        share = wording.percent(compute.utilisation)
        text += f": {share} of what {printable(compute.device)} can do in {compute.precision}"
    return text


def _reads(rows: list[SyncSiteRow], report: Report) -> str:
    return ", ".join(_read(row, report) for row in rows[:MOST_SITES]) + (
        f" and {len(rows) - MOST_SITES} more places" if len(rows) > MOST_SITES else ""
    )


def _read(row: SyncSiteRow, report: Report) -> str:
    path = cut_middle(printable(short_path(row.file, report.run.cwd)), 40)
    often = wording.counted(row.calls, "time", "times")
    if row.per_step is not None:
        often = f"{wording.count(float(f'{row.per_step:.2g}'))} per step"
    waited = f", {wording.duration(row.wait_s * 1e6)} in all" if row.wait_s else ""
    return f"{path}:{row.line} {printable(row.method)} ({often}{waited})"
