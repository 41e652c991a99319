"""A run beside its findings, in words: what every report says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from rlprof.model.activity import Component
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.memory import MemoryView
from rlprof.model.profile import GpuUse, PhaseKind, Throughput
from rlprof.model.report import (
    ProcessRow,
    Report,
    Resources,
    WaitRow,
)
from rlprof.names import printable, short_line
from rlprof.profile.component_costs import WAITING_FOR_A_CORE
from rlprof.profile.components import OTHER
from rlprof.report import wording
from rlprof.report.wording.facts import counter_name, counter_per_step
from rlprof.report.wording.of_torch import torch_lines

LEAST_PART: Final = 0.005
"""Share of the critical time, from which on a part of training is shown."""

LEAST_QUEUED: Final = 0.05
"""Share of the time, from which on waits for a core are told beside each part, too."""

LEAST_CORES: Final = 0.05
"""Part of a core, from which on a role is named."""

LEAST_NATIVE: Final = calibrated(
    0.1,
    unit="part of the CPU time",
    source="a program of one thread on a virtual machine: 5 %",
    date="2026-11-23",
)
"""Part from which on the CPU time of threads without Python is told. It is what the process has over its
Python threads, and the kernel's two clocks differ."""

LEAST_WAIT: Final = 0.1
"""Share of the steady phase, from which on a wait is shown."""
MOST_WAITS: Final = 8

LEAST_THROTTLED: Final = 0.05
"""Share of the steady phase, from which on a GPU's lowered clock is told."""

_AFTER: Final = "after the last step"
"""The phase ``shutdown``: a last update may be in it."""

LEAST_TO_COMPARE_US: Final = 1_000_000
"""Length of a run below which rlprof's own cost is mostly that of its start, and its share of the cores tells nothing."""

_NOT_STEADY: Final = "not yet steady"
"""The phase ``warm-up`` of a run that crashed in it: there may be no steps that it is the warm-up of."""

LARGEST: Final = 3
"""Processes and lines named for their memory."""


def run_line(report: Report, command: str, label: str) -> str:
    """The run in one line; ``command`` and ``label`` as the format has names."""
    run = report.run
    count = wording.counted(len(report.processes), "process", "processes")
    parts = [command, wording.duration(run.wall_us), count]
    if label:
        parts.append(label)
    if run.exit_code:
        parts.append(f"exit code {run.exit_code}")
    if not run.complete:
        parts.append("still being recorded" if run.is_live else "recording was cut off")
    return " · ".join(parts)


def run_facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of what is known of the run beside its findings."""
    yield "Phases", _phases(report)
    throughput = report.throughput
    if throughput.steady_sps is not None:
        interval = Range(throughput.steady_sps.low, throughput.steady_sps.high)
        # A rate that the program printed comes without a count.
        steps = throughput.total_steps
        counted = (
            f"{wording.count(steps)} counted by {throughput.source}" if steps else throughput.source
        )
        yield (
            throughput.unit.capitalize(),
            f"{counted}; steady "
            f"{wording.speed(report)} "
            f"({wording.between(interval, wording.rate_unit(throughput))}){_of_evaluations(report)}",
        )
    if rates := _other_rates(throughput):
        yield "Also", rates
    if report.resources is not None:
        yield "CPU", _cpu(report.resources)
        for gpu in report.resources.gpus:
            yield f"GPU {gpu.index}", _gpu(gpu)
    if report.memory is not None:
        yield "Memory", _memory(report.memory, report)
    yield from torch_lines(report)
    for name, value in report.counters_per_step:
        if told := counter_per_step(name, value):
            yield counter_name(name), told
    if cost := _overhead(report):
        yield "rlprof", cost


def _of_evaluations(report: Report) -> str:
    """Return how many of the steady steps are not the training's, where that is a good part."""
    shares = [
        entry.finding.counted_share.median
        for entry in (*report.findings, *report.also_seen)
        if entry.finding.counted_share is not None
    ]
    return f", about {wording.percent(max(shares))} of it by evaluations" if shares else ""


def _phases(report: Report) -> str:
    wall = report.run.wall_us
    names = {PhaseKind.SHUTDOWN: _AFTER}
    if report.crash is not None and report.crash.before_steady:
        names[PhaseKind.WARM_UP] = _NOT_STEADY
    parts = []
    for phase in report.phases:
        length = phase.end_us - phase.start_us
        share = f" ({wording.percent(length / wall)})" if wall else ""
        name = names.get(phase.kind, phase.kind.value)
        parts.append(f"{name} {wording.duration(length)}{share}")
    if parts and report.left_out_us:
        share = wording.percent(report.left_out_us / wall)
        parts.append(f"left out {wording.duration(report.left_out_us)} ({share})")
    return ", ".join(parts) or "none seen"


def _other_rates(throughput: Throughput) -> str:
    """Updates and batches per second, where they were counted beside what the rate is of."""
    parts = [
        f"{wording.rate(rate.median)} {what}/s"
        for rate, what in (
            (throughput.updates_per_s, "updates"),
            (throughput.batches_per_s, "batches"),
        )
        if rate is not None and what != throughput.unit
    ]
    return ", ".join(parts)


def _cpu(resources: Resources) -> str:
    roles = ", ".join(
        f"{role if number == 1 else f'{number} {role}s'} {used:.1f}"
        for role, number, used in resources.by_role
        if used >= LEAST_CORES
    )
    text = f"{resources.used:.1f} of {resources.cores:g} cores while steady"
    if roles:
        text += f" ({roles})"
    if resources.queued >= LEAST_CORES:
        text += f"; {resources.queued:.1f} more threads ready to run, without a core"
    if resources.native >= max(LEAST_CORES, LEAST_NATIVE * resources.used):
        text += f"; {resources.native:.1f} cores by threads that run no Python"
    return text


def _gpu(gpu: GpuUse) -> str:
    """Return what is known of it, in the order in which it is asked about."""
    parts = []
    if gpu.utilisation is not None:
        parts.append(f"some kernel ran for {wording.percent(gpu.utilisation)} of the steady phase")
    if gpu.memory_bytes is not None:
        parts.append(_of_most(gpu.memory_bytes, gpu.memory_total_bytes, wording.size))
    if gpu.power_w is not None:
        parts.append(_of_most(gpu.power_w, gpu.power_limit_w, wording.power))
    if gpu.clock_share is not None:
        parts.append(f"clock at {wording.percent(gpu.clock_share)} of its highest")
    for share, why in (
        (gpu.throttled_by_heat, "because it was too hot"),
        (gpu.throttled_by_power, "because of its power limit"),
    ):
        if share is not None and share >= LEAST_THROTTLED:
            parts.append(f"slowed down for {wording.percent(share)} of the time {why}")
    name = f"{printable(gpu.name)}: " if gpu.name else ""
    return name + ", ".join(parts)


def _of_most(value: float, most: float | None, words: Callable[[float], str]) -> str:
    return words(value) if most is None else f"{words(value)} of {words(most)}"


def _memory(memory: MemoryView, report: Report) -> str:
    """Peak, the largest processes, growth, and the lines that it was seen on."""
    is_told_apart = memory.is_shared_out and len(memory.processes) > 1
    most = "" if memory.is_shared_out else "at most "
    once = " (shared pages once)" if is_told_apart else ""
    parts = [f"peak {most}{wording.size(memory.peak_bytes)}{once}"]
    pids = [row.pid for row in report.processes]
    if len(memory.processes) > 1:
        largest = ", ".join(
            f"{process.role} {pids[process.process]} {wording.size(process.peak_rss_bytes)}"
            for process in memory.processes[:LARGEST]
        )
        parts.append(f"largest{' (shared pages in each)' if is_told_apart else ''}: {largest}")
    if memory.trend is not None and memory.is_growing:
        per_step = memory.bytes_per_step
        grown = f"grows by {wording.size(memory.trend.bytes_per_hour)} an hour"
        parts.append(grown + (f", {wording.size(per_step)} a step" if per_step else ""))
        telling = [line for line in memory.lines if line.stands_out]
        parts += [
            f"{short_line(line.file, line.line, report.run.cwd)} "
            f"{wording.percent(line.share_of_growth)} of the growth"
            for line in telling[:LARGEST]
        ]
    return "; ".join(parts)


def _overhead(report: Report) -> str:
    """Empty where it is not known: a recorder writes it at its end, and other programs' profiles do not tell."""
    cost = report.overhead
    total = cost.samplers_cpu_s + cost.recorder_cpu_s + cost.probe_cpu_s + cost.torch_windows_cpu_s
    if not total:
        return ""
    told = f"cost {wording.duration(total * 1e6)} of CPU itself"
    if report.run.wall_us < LEAST_TO_COMPARE_US:
        return told
    return f"{told}, {wording.percent(cost.share_of_cores)} of the cores"


def parts_of_the_time(report: Report) -> list[Component]:
    """Return where the time goes, the largest part first: all of it, so what is too little to show is told with the rest. Nothing
    where all is one part.
    """
    parts = [row for row in report.components if not row.is_marked]
    shown = [row for row in parts if _is_seen(row) and row.name != OTHER]
    little = [row for row in parts if row not in shown]
    if share := sum(row.share for row in little):
        rest = next((row for row in little if row.name == OTHER), None)
        rest = rest or Component(OTHER, 0.0, 0.0, 1.0, None)
        priced_share = sum(row.priced_share for row in little)
        shown.append(replace(rest, share=share, priced_share=priced_share))
    shown.sort(key=lambda row: -row.share)
    return shown if len(shown) > 1 and share < 1 else []


def _is_seen(row: Component) -> bool:
    return max(row.share, row.priced_share) >= LEAST_PART


def marked_phases(report: Report) -> list[Component]:
    """The phases that the program marks by itself: they may hold each other, and need not be all of the time."""
    return [row for row in report.components if row.is_marked and row.share >= LEAST_PART]


def waits_for_cores(report: Report) -> bool:
    """Tell whether waits for a core are so long that parts and findings look different."""
    return any(
        row.name == WAITING_FOR_A_CORE and row.share >= LEAST_QUEUED for row in report.components
    )


def with_its_wait(row: Component) -> str:
    """Its share with the waits for a core, as prices count it; empty for that wait itself, which is in those of the others."""
    return wording.percent(row.priced_share) if row.priced_share else ""


def about_the_parts(report: Report) -> str:
    """Return what the shares of the parts are of, where nobody would guess it; empty else."""
    if not waits_for_cores(report):
        return ""
    full = report.resources is not None and report.resources.saturated
    of_what = (
        "The cores are full: the time is that in which threads have a core or wait for one. "
        if full
        else ""
    )
    return f"{of_what}Findings and prices count a part with its wait for a core."


def wait_lines(report: Report) -> list[tuple[str, str, str]]:
    """Return who waits, how long in what, and for whom, the longest first; processes of one role are one line."""
    alike: dict[tuple[str, str, str], list[WaitRow]] = {}
    for row in report.waits:
        alike.setdefault((row.role, row.thread, row.kind), []).append(row)
    groups = [rows for rows in alike.values() if max(row.share for row in rows) >= LEAST_WAIT]
    if len(report.processes) < 2 or not groups:
        return []
    lines = []
    names = _names(groups[:MOST_WAITS])
    for rows, who in zip(groups, names, strict=False):
        shares = [row.share for row in rows]
        what = f"{wording.percents(min(shares), max(shares))} in {rows[0].kind}"
        lines.append((who, what, _whom(rows)))
    return lines


def _names(groups: Sequence[Sequence[WaitRow]]) -> list[str]:
    """Return who waits in each group; with the numbers of the threads where others have the same name."""
    tids: dict[str, set[tuple[int, ...]]] = {}
    for rows in groups:
        tids.setdefault(_who(rows), set()).add(tuple(row.tid for row in rows))
    return [
        f"{who[:-1]} {', '.join(str(row.tid) for row in rows)})"
        if len(tids[who]) > 1 and rows[0].thread
        else who
        for rows in groups
        for who in [_who(rows)]
    ]


def _who(rows: Sequence[WaitRow]) -> str:
    """``main 1000``, ``8 workers``, ``main 1000 (feeder)``, ``main 1000 (2 threads, feeder)``."""
    pids = list(dict.fromkeys(row.pid for row in rows))
    who = wording.named(rows[0].role, pids)
    if not rows[0].thread:
        return who
    name = printable(rows[0].thread)
    several = f"{len(rows)} threads, " if len(rows) > len(pids) else ""
    return f"{who} ({several}{name})"


def _whom(rows: Sequence[WaitRow]) -> str:
    """``for 8 workers (working 40 %)``: the part of the wait in which those waited for worked."""
    by_role: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        for pid, role, part in row.on:
            by_role.setdefault(role, {}).setdefault(pid, []).append(part)
    parts = []
    for role, pids in by_role.items():
        shares = [fmean(values) for values in pids.values()]
        parts.append(
            f"{wording.named(role, [*pids])} (at work for {wording.percents(min(shares), max(shares))} of it)"
        )
    return f"for {', '.join(parts)}" if parts else ""


def alike_processes(rows: Iterable[ProcessRow]) -> list[list[ProcessRow]]:
    """Those of one kind together: what is alike is told once, with the range of its times."""
    alike: dict[tuple[str, str, bool, str], list[ProcessRow]] = {}
    for row in rows:
        alike.setdefault((row.role, row.python, row.sampled, row.note), []).append(row)
    return list(alike.values())


def spread(values: Sequence[float], form: str) -> str:
    """``3.9 to 4.0``; one figure when both ends read the same."""
    return wording.ends(form.format(min(values)), form.format(max(values)))


def samples_per_second(rows: Sequence[ProcessRow]) -> str:
    """``98 to 99``; empty for processes that lived for too short a time to tell."""
    known = [row.achieved_hz for row in rows if row.achieved_hz > 0]
    return spread(known, "{:.0f}") if known else ""
