"""Tell what the recording did not see, in words for whoever reads the prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rlprof.model.profile import Drift, PhaseKind, Profile
from rlprof.model.recording import Note, Process, Recording
from rlprof.pace.steadiness import Segment, clear_fall
from rlprof.pace.throughput import paused_windows
from rlprof.profile.uncounted_steps import steps_in_a_function
from rlprof.units import count, duration, percent

_COVERED: Final = 0.8
"""Part of a process's life below which its shares may not be those of its whole life."""

_LONG_ENOUGH_US: Final = 2_000_000
"""Shorter processes are partly missed by nature: attaching, and noticing the end, takes tenths of a
second on a busy host."""

_LITTLE_BUSY: Final = 0.05
"""Busy part of the critical time under which its places are of no account."""

_TORN: Final = 0.1
_LOST: Final = 0.01
_DRIFTS: Final = 0.15
"""Change between the first and the last third of the steady phase that noise seldom makes."""

_QUEUED: Final = 0.25
"""Threads of the run that are ready on average, without a core, where there should be free ones."""

_FREE: Final = 0.25
"""Cores that the run does not get, from which on such threads could have run but for others."""

_TEAM: Final = 0.1
"""Part of the run's CPU time by threads that run no Python, from which on they count as a team."""

_NAMED: Final = 4
"""Pids listed in one note."""


def quality_notes(recording: Recording, profile: Profile) -> tuple[Note, ...]:
    """The recording's own notes, then those that follow from its figures; no slug twice."""
    notes = list(recording.notes)
    said = {note.slug for note in notes}
    for check in _CHECKS:
        note = check(recording, profile)
        if note is not None and note.slug not in said:
            notes.append(note)
    return tuple(notes)


def _incomplete(recording: Recording, _: Profile) -> Note | None:
    if recording.run.complete:
        return None
    if recording.run.is_live:
        return Note(
            "warning",
            "recording-goes-on",
            "The run is still being recorded: this report covers its first "
            f"{duration(recording.run.wall_us)} only.",
        )
    return Note(
        "warning",
        "recording-incomplete",
        "rlprof was stopped before the program ended: this report covers the first "
        f"{duration(recording.run.wall_us)} only.",
    )


def _missed(recording: Recording, _: Profile) -> Note | None:
    missed = [process for process in recording.processes if process.fate == "missed"]
    if not missed:
        return None
    why = next((process.note for process in missed if process.note), "")
    return Note(
        "warning",
        "processes-missed",
        f"{len(missed)} of {len(recording.processes)} processes could not be sampled "
        f"({_pids(missed)}){': ' + why if why else ''}. Their time is in no price.",
    )


def _without_clock(recording: Recording, _: Profile) -> Note | None:
    blind = [process for process in recording.processes if process.fate == "probe-only"]
    if not blind:
        return None
    return Note(
        "warning",
        "no-clock",
        f"No sampler could attach to {len(blind)} of {len(recording.processes)} processes "
        f"({_pids(blind)}): their work is seen, their waits are not.",
    )


def _poor_coverage(recording: Recording, _: Profile) -> Note | None:
    poor = [
        process
        for process in recording.processes
        if process.fate == "sampled"
        and lifetime_us(process, recording) >= _LONG_ENOUGH_US
        and process.clock_covered_us < _COVERED * lifetime_us(process, recording)
    ]
    if not poor:
        return None
    worst = min(
        poor, key=lambda process: process.clock_covered_us / lifetime_us(process, recording)
    )
    covered = worst.clock_covered_us / lifetime_us(worst, recording)
    return Note(
        "warning",
        "poor-coverage",
        f"{len(poor)} of {len(recording.processes)} processes ({_pids(poor)}) were sampled for "
        f"less than {percent(_COVERED)} of their life, pid {worst.pid} for {percent(covered)}: "
        "what they did in the rest is unknown.",
    )


def _probe_lost(recording: Recording, _: Profile) -> Note | None:
    lost = sum(process.probe_lost for process in recording.processes)
    taken = sum(process.probe_samples for process in recording.processes)
    if lost <= _LOST * (lost + taken):
        return None
    return Note(
        "warning",
        "probe-samples-lost",
        f"{count(lost)} of {count(lost + taken)} stacks of the probe were lost: the shares of "
        "short moments may be off.",
    )


def _torn(_: Recording, profile: Profile) -> Note | None:
    share = profile.critical.torn_share
    if share <= _TORN or _is_mostly_asleep(profile):
        return None
    return Note(
        "warning",
        "torn-stacks",
        f"For {percent(share)} of the busy time no whole stack was read, so the "
        "line is unknown: upper prices include it, lower prices do not.",
    )


def _is_mostly_asleep(profile: Profile) -> bool:
    """Tell whether there is so little busy time that nothing rests on where it went."""
    total = profile.steady.total
    return total.busy_us < _LITTLE_BUSY * total.wall_us


def _no_probe(_: Recording, profile: Profile) -> Note | None:
    share = profile.critical.clock_only_share
    if share <= _TORN or _is_mostly_asleep(profile):
        return None
    return Note(
        "warning",
        "no-probe",
        f"{percent(share)} of the busy time was located from outside only, without the stack "
        "probe: in call-heavy code such shares are too low, and the ranges are wider for it.",
    )


def _no_steady_rate(_: Recording, profile: Profile) -> Note | None:
    throughput = profile.throughput
    if throughput.unit == "none" or throughput.steady_sps is not None:
        return None
    if throughput.was_hardly_printed:
        text = (
            "The program printed a rate once or twice, which tells no steady one. Call rlprof.step(n) where the script "
            "has done n steps, or have it print its rate all along."
        )
    elif throughput.total_steps:
        text = (
            f"{count(throughput.total_steps)} {throughput.unit} were counted, but for too short a time to tell a steady "
            "rate. Let it train for some seconds longer."
        )
    else:
        text = (
            "The program printed a rate, but too seldom to tell a steady rate. Let it train for some "
            "seconds longer."
        )
    return Note("info", "too-few-step-windows", text)


def _falls(_: Recording, profile: Profile) -> Note | None:
    steady = next((phase for phase in profile.phases if phase.kind is PhaseKind.STEADY), None)
    if steady is None:
        return None
    fall = clear_fall(
        [
            Segment(end - start, rate * (end - start) / 1e6)
            for start, end, rate in profile.throughput.series
            if start >= steady.start_us and end <= steady.end_us
        ]
    )
    if fall is None:
        return None
    unit = f"{profile.throughput.unit} per second"
    return Note(
        "warning",
        "throughput-falls",
        f"The training becomes slower as it goes on: from {count(fall.first)} to "
        f"{count(fall.last)} {unit} between the first and the last third of the steady phase. "
        "Something grows with the run, or episodes become shorter and there is more of what is done once in each"
        f"{_rate_beside(profile, fall, '; ')}.",
    )


def _drifts(recording: Recording, profile: Profile) -> Note | None:
    drift = profile.throughput.drift
    if drift is None or abs(drift.change) < _DRIFTS or _falls(recording, profile) is not None:
        return None
    direction = "fell" if drift.change < 0 else "rose"
    unit = f"{profile.throughput.unit} per second"
    return Note(
        "warning" if drift.is_by_factors else "info",
        "throughput-drifts",
        f"The {unit} {direction} from {count(drift.first)} to {count(drift.last)} between the first and the last "
        f"third of the steady phase{_rate_beside(profile, drift, ': ')}.",
    )


def _rate_beside(profile: Profile, drift: Drift, mark: str) -> str:
    """Return where the steady rate lies beside those of the two thirds; the middle one may be unlike both. Empty where there is none."""
    steady = profile.throughput.steady_sps
    if steady is None:
        return ""
    if min(drift) <= steady.median <= max(drift):
        return f"{mark}the rate given is one in between"
    side = "above" if steady.median > max(drift) else "below"
    return f"{mark}the rate given, of the whole phase, is {side} both"


def _paused(recording: Recording, _: Profile) -> Note | None:
    paused = paused_windows(recording.windows)
    if not paused:
        return None
    lost = sum(recording.windows[window].length_us for window in paused)
    return Note(
        "warning",
        "recording-paused",
        f"rlprof stood still for {duration(lost)} (stopped, or without a CPU). What happened "
        "then is known in sum only, and is left out of the steady rate.",
    )


def _shared_host(_: Recording, profile: Profile) -> Note | None:
    load = profile.load
    if not load.available_us or (load.saturated and not load.is_shared):
        return None  # It is the run itself that fills the host.
    length = load.available_us / load.cores
    free = load.cores - load.got_us / length
    queued = load.queued_us / length
    if queued < _QUEUED or free < _FREE:
        return None
    team = " Threads that wait for each other, as those of torch, slow down most." * (
        load.native_us >= _TEAM * load.got_us
    )
    return Note(
        "warning",
        "host-shared",
        f"Other programs kept the CPUs busy: the run got {load.got_us / length:.1f} of "
        f"{load.cores:g} cores, while {queued:.1f} of its threads on average were ready to run and "
        f"had none. Rates and prices are those of a slower machine.{team}",
    )


_CHECKS: Final[tuple[Callable[[Recording, Profile], Note | None], ...]] = (
    _incomplete,
    _missed,
    _without_clock,
    _poor_coverage,
    _probe_lost,
    _torn,
    _no_probe,
    _shared_host,
    _no_steady_rate,
    steps_in_a_function,
    _falls,
    _drifts,
    _paused,
)


def lifetime_us(process: Process, recording: Recording) -> int:
    """Return how long the process lived within the recording, which may end before the process does."""
    wall = recording.run.wall_us
    end = wall if process.ended_us is None else min(process.ended_us, wall)
    return max(0, end - process.started_us)


def _pids(processes: Sequence[Process]) -> str:
    named = ", ".join(str(process.pid) for process in processes[:_NAMED])
    more = len(processes) - _NAMED
    word = "pid" if len(processes) == 1 else "pids"
    return f"{word} {named}{f' and {more} more' if more > 0 else ''}"
