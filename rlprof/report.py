"""From a recording to a report: profile, detect, price, and say what was not seen."""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from rlprof.analysis.critical import usable_cores
from rlprof.analysis.flame import build_flame
from rlprof.analysis.origin import Origin, installed_package, origin_of_file
from rlprof.analysis.own_pace import at_own_pace
from rlprof.analysis.profile import build_profile
from rlprof.analysis.quality import lifetime_us
from rlprof.analysis.steps import count_steps
from rlprof.analysis.torch_windows import WindowView, view_windows
from rlprof.detectors.base import Detector, Need
from rlprof.device_pricing import discover_device_detectors
from rlprof.discovery import broken_plugins, discover_detectors
from rlprof.model.counters import STEP_COUNTERS
from rlprof.model.finding import Finding
from rlprof.model.flame import FlameSelection
from rlprof.model.profile import Phase, PhaseKind, Profile
from rlprof.model.recording import Note, Process, Recording
from rlprof.model.report import Overhead, ProcessRow, Report, Resources, WaitRow
from rlprof.pricing import Priced, claimed_nodes, price, samples_behind, without_nodes
from rlprof.torch_facts import compute_of, launches_per_step, site_rows, window_rows
from rlprof.units import count
from rlprof.window_pricing import with_windows

_SAMPLED: Final = frozenset({"sampled", "probe-only"})
"""Fates of the processes whose stacks were seen."""

_FEW_SAMPLES: Final = 200
"""Below it the sampling error alone makes a share of a half uncertain by 10 points either way."""


def build_report(
    recording: Recording, *, selection: FlameSelection | None = None, run_file: str = ""
) -> Report:
    """Everything a renderer may show. ``selection`` narrows the flamegraph alone.

    Raises ``UsageError`` when ``selection`` matches nothing. A detector that fails costs its own
    findings, and a note says so.
    """
    whole_run, recording = recording, at_own_pace(recording)
    profile = build_profile(recording)
    priced, notes = find_and_price(profile, discover_detectors())
    windows = view_windows(whole_run.torch_windows)
    sites = whole_run.sync_sites
    priced = with_windows(priced, windows, discover_device_detectors(), profile, sites)
    total_steps = count_steps(whole_run).total
    return Report(
        run=whole_run.run,
        throughput=replace(profile.throughput, total_steps=total_steps),
        phases=profile.phases,
        processes=_process_rows(recording, profile),
        findings=priced.listed,
        also_seen=priced.also_seen,
        overhead=_overhead(recording),
        notes=(*profile.notes, *_few_samples(profile, priced), *broken_plugins(), *notes),
        flame=build_flame(recording, profile, selection or FlameSelection()),
        counters_per_step=_counters_per_step(profile, windows),
        bound=profile.bound,
        components=profile.components,
        waits=_wait_rows(recording, profile),
        resources=_resources(profile),
        memory=profile.memory,
        torch_windows=window_rows(windows, profile, left_out=recording is not whole_run),
        compute=compute_of(windows, profile),
        sync_sites=site_rows(sites, profile, total_steps),
        run_file=run_file,
    )


def find_and_price(
    profile: Profile, detectors: Iterable[Detector]
) -> tuple[Priced, tuple[Note, ...]]:
    """Run ``detectors``; those that name only what nothing explains see what the others left."""
    ordered = sorted(detectors, key=lambda detector: detector.id)
    profile = replace(profile, sources=_sources_to_read(profile))
    able = [detector for detector in ordered if not _unmet(detector, profile)]
    known = [_detect(detector, profile) for detector in able if not detector.fallback]
    findings = [finding for outcome in known for finding in outcome.findings]
    claimed = claimed_nodes(price(findings, profile), PhaseKind.STEADY)
    rest = without_nodes(profile, claimed)
    fallback = [_detect(detector, rest) for detector in able if detector.fallback]
    findings += [finding for outcome in fallback for finding in outcome.findings]
    failures = [outcome.failure for outcome in known + fallback if outcome.failure is not None]
    return price(findings, profile), (*_skipped(ordered, profile), *failures)


def _sources_to_read(profile: Profile) -> Mapping[str, str]:
    """The user's files, be they a project's or those of the installed package that was started.

    Fixes are made there, and reading all of torch's takes seconds.
    """
    return {
        file: text
        for file, text in profile.sources.items()
        if origin_of_file(file) is Origin.YOURS
        or (profile.started_package and installed_package(file) == profile.started_package)
    }


class _Outcome(NamedTuple):
    findings: tuple[Finding, ...]
    failure: Note | None = None


def _detect(detector: Detector, profile: Profile) -> _Outcome:
    try:
        return _Outcome(tuple(detector.detect(profile)))
    # A detector may come from another package, and a bug in one must not cost the whole report.
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return _Outcome(
            (),
            Note(
                "error",
                "detector-failed",
                f"The detector {detector.id} failed ({type(error).__name__}: {error}, at "
                f"{place.filename}:{place.lineno}): what it looks for is not in this report. "
                "Please report it to its authors.",
            ),
        )


def _unmet(detector: Detector, profile: Profile) -> frozenset[Need]:
    there = {
        Need.SAMPLES: profile.whole.total.wall_us > 0,
        Need.SOURCES: bool(profile.sources),
        Need.STEPS: profile.throughput.unit == "steps",
    }
    return frozenset(need for need in detector.needs if not there[need])


def _skipped(detectors: Iterable[Detector], profile: Profile) -> Iterator[Note]:
    """Yield one note for each kind of data that is missing, with the detectors that need it."""
    detectors = tuple(detectors)
    for need in Need:
        ids = [detector.id for detector in detectors if need in _unmet(detector, profile)]
        if ids:
            yield Note(
                "info",
                "detector-skipped",
                f"The recording has no {need.value}, so these detectors were left out: "
                f"{', '.join(ids)}.",
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


def _process_rows(recording: Recording, profile: Profile) -> tuple[ProcessRow, ...]:
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
            recording,
            role=profile.process_roles[process.id],
            phases=profile.process_phases.get(process.id, ()),
            # The gauge counts threads that are not Python's too, but misses the last moment.
            cpu_us=max(by_threads[process.id], by_process[process.id]),
            main_part=main_wall_us[process.id] / max(1, wall_us[process.id]),
        )
        for process in recording.processes
    )


def _process_row(
    process: Process,
    recording: Recording,
    *,
    role: str,
    phases: tuple[Phase, ...],
    cpu_us: float,
    main_part: float,
) -> ProcessRow:
    """``main_part`` of the clock's ticks, which are of all threads, were of the main thread."""
    requested = process.requested_interval_us
    covered = process.clock_covered_us
    return ProcessRow(
        pid=process.pid,
        ppid=process.ppid,
        role=role,
        command=shlex.join(process.argv),
        python=process.python,
        sampled=process.fate in _SAMPLED,
        wall_s=lifetime_us(process, recording) / 1e6,
        cpu_s=cpu_us / 1e6,
        requested_hz=1e6 / requested if requested else 0.0,
        achieved_hz=process.clock_samples * main_part * 1e6 / covered if covered else 0.0,
        note=process.note,
        phases=phases,
    )


def _overhead(recording: Recording) -> Overhead:
    parts = [
        recording.overhead.get(part, 0.0)
        for part in ("samplers_cpu_us", "recorder_cpu_us", "probe_cpu_us")
    ]
    there_is = recording.run.wall_us * usable_cores(recording.run.host)
    samplers, recorder, probe = (part / 1e6 for part in parts)
    return Overhead(samplers, recorder, probe, sum(parts) / there_is if there_is else 0.0)


def _counters_per_step(
    profile: Profile, windows: Sequence[WindowView]
) -> tuple[tuple[str, float], ...]:
    """What was counted in the steady phase, steps and the program's own phases left out."""
    steps = profile.steady_steps
    if not steps:
        return ()
    counted: dict[str, float] = {
        name: value / steps
        for name, value in profile.counts.items()
        if name not in STEP_COUNTERS and not name.startswith("phase:")
    }
    counted.update(launches_per_step(windows, profile))
    return tuple(sorted(counted.items()))


def _wait_rows(recording: Recording, profile: Profile) -> tuple[WaitRow, ...]:
    length = max(1, profile.steady_us)
    processes, threads = recording.processes, recording.threads

    def role(process: int) -> str:
        return profile.process_roles[process]

    return tuple(
        WaitRow(
            pid=processes[wait.process].pid,
            role=role(wait.process),
            thread="" if threads[wait.thread].is_main else threads[wait.thread].name,
            kind=wait.kind.value,
            share=min(1.0, wait.wall_us / length),
            on=tuple((processes[it].pid, role(it), part) for it, part in wait.on),
        )
        for wait in profile.waits
    )


def _resources(profile: Profile) -> Resources | None:
    load = profile.load
    if not load.there_is_us:
        return None
    length = load.there_is_us / load.cores
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
