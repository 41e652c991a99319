"""A trace in blocks: what its devices did, what they waited for, what could be gained, what to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlprof.device.view import TraceView
from rlprof.documents.blocks import (
    Block,
    Column,
    Item,
    Items,
    Paragraph,
    Remarks,
    Section,
    StyledText,
    Table,
    fact_table,
)
from rlprof.model.device import DeviceFinding, TracePlace
from rlprof.names import cut_middle, printable
from rlprof.pricing.traces import TraceFindings
from rlprof.report.wording import count, counted, duration, percent, size
from rlprof.report.wording.facts import IDLE_CAUSES

_SHOWN_KERNELS: Final = 3
_LEAST_SHOWN: Final = 0.001
"""Part of the trace: what is less is not worth a line."""


def trace_document(view: TraceView, findings: TraceFindings, path: str) -> Iterator[Block]:
    steps = f" · {counted(view.step_count, 'step', 'steps')}" if view.step_count else ""
    trace = f"{printable(path)} · {duration(view.wall.length)}{steps}"
    yield Paragraph([StyledText(_verdict(view, findings), "bold"), StyledText(trace, "dim")])
    if view.devices:
        yield Section("Devices", [_devices(view)])
        yield Section("What it waits for while idle", [_idle(view)])
    for rank, finding in enumerate(findings.listed, start=1):
        yield _finding(finding, rank, view)
    if findings.also_seen:
        seen = [
            Item(f"{printable(seen_finding.title)}: {seen_finding.evidence[0]}")
            for seen_finding in findings.also_seen
        ]
        yield Section("Also seen: worth knowing, but hardly any time", [Items(seen)])
    yield Section("The trace", [fact_table(list(_facts(view)))])
    notes = (*findings.failures.values(), *view.notes)
    yield Remarks("What to know about this trace", notes)


def _verdict(view: TraceView, findings: TraceFindings) -> str:
    if not view.has_device:
        return "Nothing can be said of a GPU from this trace."
    works = f"The GPU works for {percent(view.busy_share)} of the trace."
    if not findings.listed:
        return f"{works} No known cause of lost time was found."
    most = findings.listed[0].saved_us.high / view.wall.length
    return f"{works} Fixing the first finding saves at most {percent(most)}."


def _devices(view: TraceView) -> Table:
    names = ("busy", "idle", "kernels", "under 10 µs", "streams")
    columns = [Column(name="device", wraps=False), *(Column(name=name) for name in names)]
    rows = [
        (
            printable(f"{device.id} {device.name}".strip()),
            duration(device.busy_us),
            percent(1 - device.busy_us / view.wall.length),
            count(device.kernels),
            percent(device.short_kernels / max(1, device.kernels)),
            count(device.streams),
        )
        for device in view.devices
    ]
    return Table(columns, rows, is_ruled=False)


def _idle(view: TraceView) -> Table:
    parts = [(view.idle_us(cause), words) for cause, words in IDLE_CAUSES.items()]
    whole = view.wall.length
    return fact_table(
        [
            (percent(us / whole), duration(us), words)
            for us, words in parts
            if us >= _LEAST_SHOWN * whole
        ],
        columns=3,
    )


def _finding(finding: DeviceFinding, rank: int, view: TraceView) -> Section:
    low, high = (us / view.wall.length for us in finding.saved_us)
    share = (
        f"{percent(low)} to {percent(high)}" if low >= _LEAST_SHOWN else f"up to {percent(high)}"
    )
    most = duration(finding.saved_us.high)
    price = f"saves {share} of the trace ({most} at most); {finding.confidence.value}"
    reasons = [Item(printable(text)) for text in finding.evidence]
    fix = Item(printable(finding.fix), "Fix:", "bold green")
    return Section(
        f"{rank}. {printable(finding.title)}",
        [
            Paragraph([price, *map(_place, finding.places)]),
            Items([*reasons, fix]),
            Paragraph([StyledText(f"More: rlprof explain {finding.detector}", "dim")]),
        ],
        indent=3,
    )


def _place(place: TracePlace) -> str:
    at = f"{cut_middle(printable(place.file), 60)}:{place.line} in {printable(place.function)}"
    where = f"in the function at {at}" if place.file else "at a place that the trace does not tell"
    op = f", {printable(place.op)}" if place.op else ""
    return f"{where}{op}: {counted(place.count, 'call', 'calls')}, {duration(place.time_us)}"


def _facts(view: TraceView) -> Iterator[tuple[str, str]]:
    facts = view.kernels
    if facts.count:
        yield (
            "Kernels",
            f"{count(facts.count)} by {counted(facts.launches, 'launch', 'launches')}; median "
            f"{duration(facts.median_us)}, {duration(facts.median_delay_us)} after its launch",
        )
        kinds = [f"{name} {percent(part)}" for name, part in facts.families.items() if part >= 0.01]
        if kinds:
            yield ("", "of their time: " + ", ".join(kinds))
        for name, number, us in facts.heaviest[:_SHOWN_KERNELS]:
            yield ("", f"{duration(us)} in {count(number)} of {cut_middle(printable(name), 60)}")
    blocking = view.blocking
    if blocking.calls:
        yield (
            "Waits",
            f"{counted(len(blocking.calls), 'blocking call', 'blocking calls')}: {duration(blocking.wait_us)}, "
            f"of which {duration(blocking.recoverable_us)} could be gained at most",
        )
    for transfer in view.transfers:
        yield (
            "Copies",
            f"{transfer.direction}, {transfer.memory}: {count(transfer.count)}, {size(transfer.bytes)}, host {duration(transfer.host_us)}, "
            f"GPU {duration(transfer.device_us)}",
        )
    if (used := view.optimizer) is not None:
        yield (
            "Optimizer",
            f"{printable(used.name)}, {used.kind.value}: {counted(used.steps, 'step', 'steps')}, "
            f"{used.launches_per_step:.3g} launches and {duration(used.host_us / used.steps)} each",
        )
    yield ("Rows", f"{count(view.trace.rows)} in {size(view.trace.source_bytes)}")
