"""Torch in words: the windows of its profiler, and reads of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from rlprof.model.report import Compute, Report, SyncSiteRow, TorchWindowRow
from rlprof.names import printable, short_line
from rlprof.report import wording
from rlprof.report.wording.facts import WINDOW_FATES

MOST_SITES: Final = 3
_MUCH_AROUND: Final = 1.1
"""Time left out over that of the windows, from which on it is told, too: it goes by whole windows of the recording."""

LEAST_PER_STEP: Final = 0.001
"""Reads per step below which they are of the logging."""


def torch_lines(report: Report) -> Iterable[tuple[str, str]]:
    """Yield (name, text) of the rows; none for a run without torch."""
    if report.torch_windows:
        yield "torch", _windows(report.torch_windows, report.left_out_us)
    if report.compute is not None:
        yield "Compute", _compute(report.compute)
    places = _places(report.sync_sites)
    waiting = [row for row in places if row.device == "gpu"]
    if waiting:
        yield "GPU waits", _reads(waiting, report) + "; what of it can be saved is in the findings"
    elif would := [row for row in places if (row.per_step or 0.0) >= LEAST_PER_STEP]:
        yield (
            "Reads",
            "free on the CPU; each would wait if its tensor were on a GPU: "
            + _reads(would, report),
        )


def _windows(rows: tuple[TorchWindowRow, ...], left_out_us: int) -> str:
    cost = sum(row.cost_s for row in rows)
    number = wording.counted(len(rows), "window", "windows")
    figures = "left out of every figure"
    if left_out_us > _MUCH_AROUND * cost * 1e6:
        around = "what was recorded with them" if len(rows) > 1 else "what was recorded with it"
        figures = f"{wording.duration(left_out_us)} left out of every figure, with {around}"
    if not all(row.is_left_out for row in rows):
        figures = "in the figures, for the run is short: its own pace is higher"
    parts = [f"{number} of its profiler, {wording.duration(cost * 1e6)}, {figures}"]
    parts += [WINDOW_FATES[row.fate] for row in rows if row.fate in WINDOW_FATES]
    told = next((row for row in rows if row.updates and row.ops), None)
    if told is not None:
        each = f"{wording.count(round(told.ops / told.updates))} ops"
        if told.launches:
            each += f" and {wording.count(round(told.launches / told.updates))} kernels"
        optimizer = f" with {printable(told.optimizer)}" if told.optimizer else ""
        parts.append(f"{each} per update{optimizer}")
    busy = [row.busy_share for row in rows if row.busy_share is not None and row.kind != "stacks"]
    if busy:
        parts.append(
            f"GPU busy for {wording.ends(*map(wording.percent, (min(busy), max(busy))))} of them"
        )
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


def _places(rows: Iterable[SyncSiteRow]) -> list[SyncSiteRow]:
    """Rows of several processes at one place as one, the longest waits first."""
    alike: dict[tuple[str, int, str, str], SyncSiteRow] = {}
    for row in rows:
        key = (row.file, row.line, row.method, row.device)
        known = alike.get(key)
        alike[key] = (
            row
            if known is None
            else replace(
                known,
                calls=known.calls + row.calls,
                per_step=None if row.per_step is None else (known.per_step or 0.0) + row.per_step,
                wait_s=known.wait_s + row.wait_s,
                bytes=known.bytes + row.bytes,
            )
        )
    return sorted(alike.values(), key=lambda row: (-row.wait_s, -row.calls))


def _read(row: SyncSiteRow, report: Report) -> str:
    at = short_line(row.file, row.line, report.run.cwd, 40)
    often = wording.counted(row.calls, "time", "times")
    each = f"per {report.throughput.unit.removesuffix('s')}"
    if row.per_step is not None:
        often = f"{wording.count(float(f'{row.per_step:.2g}'))} {each}"
    waited = f", {wording.duration(row.wait_s * 1e6)} in all" if row.wait_s else ""
    return f"{at} {printable(row.method)} ({often}{waited})"
