"""From a recording to a report: what was found, how the run went, and what was not seen."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from rlprof.device.torch_windows import WindowView
from rlprof.discovery import broken_plugins
from rlprof.libraries.step_sources import is_of_steps
from rlprof.model.activity import NOT_BOUND
from rlprof.model.calltree import CallTree
from rlprof.model.flame import FlameSelection
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT, Note, Process, Recording, Thread
from rlprof.model.report import Overhead, ProcessRow, Report, Resources, WaitRow
from rlprof.pace.load import usable_cores
from rlprof.pace.steps import count_steps
from rlprof.pricing.ranking import Priced
from rlprof.pricing.samples import samples_behind
from rlprof.profile.flame import build_flame
from rlprof.profile.quality import lifetime_us
from rlprof.report.detail import build_detail
from rlprof.report.findings import look_into
from rlprof.report.torch_facts import compute_of, launches_per_step, site_rows, window_rows
from rlprof.units import count, percent

_SAMPLED: Final = frozenset({"sampled", "probe-only"})
"""Fates of the processes whose stacks were seen."""

_NO_NAME: Final = re.compile(r"python[\d.]*t?")
"""Name that the kernel gives a thread which nobody named: that of its process."""

_FEW_SAMPLES: Final = 200
"""Below it the sampling error alone makes a share of a half uncertain by 10 points either way."""

_NEARLY_ALL: Final = 0.95
"""Part of the counted steps from which on the others may be samples that came to lie beside."""

_LEAST_COVERED_US: Final = 100_000
"""Time of a process seen by the clock below which its samples per second are not known: there are few, or one."""


def build_report(
    recording: Recording,
    *,
    selection: FlameSelection | None = None,
    run_file: str = "",
    detailed: bool = False,
) -> Report:
    """Everything a renderer may show. ``selection`` narrows the flamegraph alone; ``detailed`` adds what
    only pages and exports need.

    Raises ``UsageError`` when ``selection`` matches nothing. A detector that fails costs its own
    findings, and a note says so.
    """
    found = look_into(recording)
    profile, priced, windows = found.profile, found.priced, found.windows
    total_steps = count_steps(recording).total
    report = Report(
        run=recording.run,
        crash=found.crash,
        hang=profile.hang,
        left_out_us=recording.run.wall_us - found.at_pace.run.wall_us,
        throughput=replace(profile.throughput, total_steps=total_steps),
        phases=profile.phases,
        processes=_process_rows(found.at_pace, profile, recording),
        findings=priced.listed,
        also_seen=priced.also_seen,
        overhead=_overhead(recording),
        notes=(
            *profile.notes,
            *_other_steps(priced),
            *_few_samples(profile, priced),
            *broken_plugins(),
            *found.notes,
        ),
        flame=build_flame(found.at_pace, profile, selection or FlameSelection()),
        counters_per_step=_counters_per_step(profile, windows),
        bound=profile.bound,
        components=profile.components,
        waits=_wait_rows(found.at_pace, profile),
        resources=_resources(profile),
        memory=profile.memory,
        torch_windows=window_rows(
            windows,
            profile,
            [window.begun_us for window in found.at_pace.torch_windows],
            left_out=found.is_cut,
        ),
        compute=compute_of(windows, profile),
        sync_sites=site_rows(recording.sync_sites, profile, total_steps),
        experiments=recording.experiments,
        run_file=run_file,
        detail=build_detail(recording, found) if detailed else None,
    )
    return report if is_worth_keeping(report) else _without_a_steady_phase(report)


def is_worth_keeping(report: Report) -> bool:
    """Tell whether later commands may go on from this run: not from one that crashed before it was steady."""
    return report.crash is None or not report.crash.before_steady


def _without_a_steady_phase(report: Report) -> Report:
    """Leave out what rests on a steady phase, for a run that crashed too early."""
    return replace(
        report,
        # Times are told, so what was left out of them is, too.
        notes=tuple(
            note for note in report.notes if note.level != "info" or note.slug == "run-paused"
        ),
        bound=NOT_BOUND,
        components=(),
        waits=(),
        resources=None,
    )


def _other_steps(priced: Priced) -> Iterator[Note]:
    """Yield a note where a good part of the counted steps are not the training's: ``diff`` warns by its name, too."""
    for entry in (*priced.listed, *priced.also_seen):
        if (share := entry.finding.counted_share) is not None:
            told = (
                "All counted steps are made by evaluations: the rate given is theirs, and tells nothing of the training. "
                if share.median >= _NEARLY_ALL
                else f"About {percent(share.median)} of the counted steps are made by evaluations, not by the training: the rate "
                "given is that of both, and changes with how much is evaluated. "
            )
            yield Note(
                "warning",
                "steps-of-evaluations",
                f"{told}Call rlprof.step() in the training's loop alone: then its steps are the rate.",
            )


def _few_samples(profile: Profile, priced: Priced) -> tuple[Note, ...]:
    samples = samples_behind(profile)
    steady = any(entry.finding.phase is PhaseKind.STEADY for entry in priced.listed)
    if not steady or samples >= _FEW_SAMPLES:
        return ()
    return (
        Note(
            "warning",
            "few-samples",
            f"The steady prices rest on {count(round(samples))} samples: their ranges are wide. "
            "Let it train for longer, or give a finer --interval.",
        ),
    )


def _process_rows(
    recording: Recording, profile: Profile, whole: Recording
) -> tuple[ProcessRow, ...]:
    """``whole`` is the recording with what windows of torch's profiler slowed: lives are told as long as they were."""
    none = {process.id: 0.0 for process in recording.processes}
    by_threads, by_process, wall_us, main_wall_us = dict(none), dict(none), dict(none), dict(none)
    for clock in recording.clocks:
        thread = recording.threads[clock.thread]
        by_threads[thread.process] += clock.on_cpu_us
        wall_us[thread.process] += clock.wall_us
        main_wall_us[thread.process] += clock.wall_us if thread.is_main else 0
    for gauge in recording.gauges:
        if gauge.name == "cpu_us":
            by_process[gauge.process] += gauge.value
    return tuple(
        _process_row(
            process,
            whole,
            profile,
            # The gauge counts threads that are not Python's too, but misses the last moment.
            cpu_us=max(by_threads[process.id], by_process[process.id]),
            main_part=main_wall_us[process.id] / max(1, wall_us[process.id]),
            at_pace_us=None
            if whole.run.wall_us == recording.run.wall_us
            else (process.started_us, process.started_us + lifetime_us(process, recording)),
        )
        for process in recording.processes
    )


def _process_row(
    process: Process,
    whole: Recording,
    profile: Profile,
    *,
    cpu_us: float,
    main_part: float,
    at_pace_us: tuple[int, int] | None,
) -> ProcessRow:
    """``main_part`` of the clock's ticks, which are of all threads, were of the main thread."""
    lived = whole.processes[process.id]
    requested = process.requested_interval_us
    covered = process.clock_covered_us
    return ProcessRow(
        pid=process.pid,
        ppid=process.ppid,
        role=profile.process_roles[process.id],
        command=shlex.join(process.argv),
        python=process.python,
        sampled=process.fate in _SAMPLED,
        wall_s=lifetime_us(lived, whole) / 1e6,
        cpu_s=cpu_us / 1e6,
        requested_hz=1e6 / requested if requested else 0.0,
        achieved_hz=process.clock_samples * main_part * 1e6 / covered
        if covered >= _LEAST_COVERED_US
        else 0.0,
        note=process.note,
        phases=profile.process_phases.get(process.id, ()),
        started_s=lived.started_us / 1e6,
        at_pace_us=at_pace_us,
        is_left_out=process.fate == "left-out",
    )


def _overhead(recording: Recording) -> Overhead:
    parts = [
        recording.overhead.get(f"{part}_cpu_us", 0.0) / 1e6
        for part in ("samplers", "recorder", "probe", "torch_windows")
    ]
    available = recording.run.wall_us / 1e6 * usable_cores(recording.run.host)
    samplers, recorder, probe, windows = parts
    share = sum(parts) / available if available else 0.0
    return Overhead(samplers, recorder, probe, windows, share)


def _counters_per_step(
    profile: Profile, windows: Sequence[WindowView]
) -> tuple[tuple[str, float], ...]:
    """Return what was counted in the steady phase, steps and the program's own phases left out."""
    steps = profile.steady_steps
    if not steps:
        return ()
    counted: dict[str, float] = {
        name: value / steps for name, value in profile.counts.items() if is_of_steps(name)
    }
    counted.update(launches_per_step(windows, profile))
    return tuple(sorted(counted.items()))


def _wait_rows(recording: Recording, profile: Profile) -> tuple[WaitRow, ...]:
    length = max(1, profile.steady_us)
    processes, threads = recording.processes, recording.threads
    trees = {activity.thread: activity.tree for activity in profile.activities}

    def role(process: int) -> str:
        return profile.process_roles[process]

    return tuple(
        WaitRow(
            pid=processes[wait.process].pid,
            role=role(wait.process),
            thread=_thread_name(threads[wait.thread], trees.get(wait.thread)),
            kind=wait.kind.value,
            share=min(1.0, wait.wall_us / length),
            on=tuple((processes[process].pid, role(process), part) for process, part in wait.on),
            tid=threads[wait.thread].tid,
        )
        for wait in profile.waits
    )


def _thread_name(thread: Thread, tree: CallTree | None) -> str:
    """Its name, or the function that Python's ``threading`` runs in it where it has only that of the interpreter: before
    Python 3.14 all threads of a process have one. Empty for a main thread.
    """
    if thread.is_main or tree is None or not _NO_NAME.fullmatch(thread.name):
        return "" if thread.is_main else thread.name
    nodes = tree.roots()
    while nodes:
        heaviest = max(nodes, key=lambda node: tree.total_cost(node).wall_us)
        frame = tree.frame(heaviest)
        if not frame.file.endswith("/threading.py"):
            # A thread that the kernel was asked for, by a library in C, begins elsewhere.
            return frame.function if tree.nodes[heaviest].parent != NO_PARENT else thread.name
        nodes = tree.children(heaviest)
    return thread.name


def _resources(profile: Profile) -> Resources | None:
    load = profile.load
    # A profile of another program has windows but no clocks of processors.
    if not load.available_us or not load.got_us:
        return None
    length = load.available_us / load.cores
    by_role: dict[str, list[float]] = {}
    for process, us in load.by_process:
        by_role.setdefault(profile.process_roles[process], []).append(us / length)
    rows = [(role, len(used), sum(used)) for role, used in by_role.items()]
    return Resources(
        cores=load.cores,
        used=load.got_us / length,
        queued=load.queued_us / length,
        native=load.native_us / length,
        saturated=load.saturated,
        by_role=tuple(sorted(rows, key=lambda row: (-row[2], row[0]))),
        gpus=profile.gpus,
    )
