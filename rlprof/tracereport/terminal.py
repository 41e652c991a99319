"""A trace as text: what its devices did, what they waited for, what could be gained, what to know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rlprof.device.view import TraceView
from rlprof.documents.terminal import bullet, grid, heading, remark
from rlprof.documents.terminal import printed as as_text
from rlprof.model.device import DeviceFinding, IdleCause, TracePlace
from rlprof.names import cut_middle, printable
from rlprof.pricing.traces import TraceFindings
from rlprof.report.wording import count, counted, duration, percent, size

_CAUSES: Final = {
    IdleCause.SYNC: "after a wait for a result",
    IdleCause.BLOCKING_COPY: "after a blocking copy",
    IdleCause.ALLOCATOR: "allocating device memory",
    IdleCause.DATA: "data, environments, Python outside of torch",
    IdleCause.COMPILE: "compiling",
    IdleCause.LAUNCH_BOUND: "the host inside of torch, launching",
    IdleCause.OTHER: "other",
}
_SHOWN_KERNELS: Final = 3
_LEAST_SHOWN: Final = 0.001
"""Part of the trace: what is less is not worth a line."""


def trace_as_text(
    view: TraceView, findings: TraceFindings, path: str, *, width: int, colored: bool
) -> str:
    return as_text(_parts(view, findings, path), width=width, colored=colored)


def _parts(view: TraceView, findings: TraceFindings, path: str) -> Iterable[RenderableType]:
    yield _verdict(view, findings)
    steps = f" · {counted(view.step_count, 'step', 'steps')}" if view.step_count else ""
    yield Text(f"{printable(path)} · {duration(view.wall.length)}{steps}", style="dim")
    if view.devices:
        yield heading("Devices")
        yield _devices(view)
        yield heading("What it waits for while idle")
        yield _idle(view)
    for rank, finding in enumerate(findings.listed, start=1):
        yield Text()
        yield _finding(finding, f"{rank}. ", view)
    if findings.also_seen:
        yield heading("Also seen: worth knowing, but hardly any time")
        for finding in findings.also_seen:
            yield bullet("-", Text(f"{printable(finding.title)}: {finding.evidence[0]}"))
    yield heading("The trace")
    yield _facts(view)
    notes = (*findings.failures.values(), *view.notes)
    if notes:
        yield heading("What to know about this trace")
    yield from map(remark, notes)


def _verdict(view: TraceView, findings: TraceFindings) -> Text:
    if not view.has_device:
        return Text("Nothing can be said of a GPU from this trace.", style="bold")
    text = f"The GPU works for {percent(view.busy_share)} of the trace."
    if findings.listed:
        most = findings.listed[0].saved_us.high / view.wall.length
        text += f" Fixing the first finding saves at most {percent(most)}."
    else:
        text += " No known cause of lost time was found."
    return Text(text, style="bold")


def _devices(view: TraceView) -> Table:
    table = grid(6)
    table.add_row("device", "busy", "idle", "kernels", "under 10 µs", "streams", style="dim")
    for device in view.devices:
        table.add_row(
            printable(f"{device.id} {device.name}".strip()),
            duration(device.busy_us),
            percent(1 - device.busy_us / view.wall.length),
            count(device.kernels),
            percent(device.short_kernels / max(1, device.kernels)),
            count(device.streams),
        )
    return table


def _idle(view: TraceView) -> Table:
    table = grid(3)
    for cause, words in _CAUSES.items():
        us = view.idle_us(cause)
        if us >= _LEAST_SHOWN * view.wall.length:
            table.add_row(percent(us / view.wall.length), duration(us), words)
    return table


def _finding(finding: DeviceFinding, number: str, view: TraceView) -> RenderableType:
    low, high = (us / view.wall.length for us in finding.saved_us)
    share = (
        f"{percent(low)} to {percent(high)}" if low >= _LEAST_SHOWN else f"up to {percent(high)}"
    )
    lines: list[RenderableType] = [
        Text(f"saves {share} of the trace ({duration(finding.saved_us.high)} at most); "
             f"{finding.confidence.value}")
    ]  # fmt: skip
    lines += [_place(place) for place in finding.places]
    lines += [bullet("-", Text(printable(text))) for text in finding.evidence]
    lines.append(bullet("Fix:", Text(printable(finding.fix)), style="bold green"))
    lines.append(Text(f"More: rlprof explain {finding.detector}", style="dim"))
    title = Text(f"{number}{printable(finding.title)}", style="bold")
    return Group(title, Padding(Group(*lines), (0, 0, 0, 3)))


def _place(place: TracePlace) -> Text:
    at = f"{cut_middle(printable(place.file), 60)}:{place.line} in {printable(place.function)}"
    where = f"in the function at {at}" if place.file else "at a place that the trace does not tell"
    op = f", {printable(place.op)}" if place.op else ""
    return Text(f"{where}{op}: {counted(place.count, 'call', 'calls')}, {duration(place.time_us)}")


def _facts(view: TraceView) -> Table:
    table = grid(2)
    facts = view.kernels
    if facts.count:
        table.add_row(
            "Kernels",
            f"{count(facts.count)} by {counted(facts.launches, 'launch', 'launches')}; median "
            f"{duration(facts.median_us)}, {duration(facts.median_delay_us)} after its launch",
        )
        kinds = [f"{name} {percent(part)}" for name, part in facts.families.items() if part >= 0.01]
        if kinds:
            table.add_row("", "of their time: " + ", ".join(kinds))
        for name, number, us in facts.heaviest[:_SHOWN_KERNELS]:
            table.add_row(
                "", f"{duration(us)} in {count(number)} of {cut_middle(printable(name), 60)}"
            )
    blocking = view.blocking
    if blocking.calls:
        table.add_row(
            "Waits",
            f"{counted(len(blocking.calls), 'blocking call', 'blocking calls')}: {duration(blocking.wait_us)}, "
            f"of which {duration(blocking.recoverable_us)} could be gained at most",
        )
    for it in view.transfers:
        table.add_row(
            "Copies",
            f"{it.direction}, {it.memory}: {count(it.count)}, {size(it.bytes)}, host {duration(it.host_us)}, "
            f"GPU {duration(it.device_us)}",
        )
    if (used := view.optimizer) is not None:
        table.add_row(
            "Optimizer",
            f"{printable(used.name)}, {used.kind.value}: {counted(used.steps, 'step', 'steps')}, "
            f"{used.launches_per_step:.3g} launches and {duration(used.host_us / used.steps)} each",
        )
    table.add_row("Rows", f"{count(view.trace.rows)} in {size(view.trace.source_bytes)}")
    return table
