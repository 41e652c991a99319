"""The bad end of a run: of its own program, or of a worker that died while the others went on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from signal import SIGKILL
from typing import Final

from rlprof.errors import exit_code_of_signal
from rlprof.model.calibration import calibrated
from rlprof.model.crash import (
    Crash,
    DeadWorker,
    is_bad_end,
    is_missed,
    is_worker_stopped_by,
    signal_of,
)
from rlprof.model.profile import Phase, PhaseKind, Profile
from rlprof.model.recording import POOLED, Process, Recording

_BEFORE_THE_END_US: Final = 2_000_000
"""A worker that ends in the last moments of a run that succeeds is shut down, whatever its exit code: with SIGKILL
by a pool, or by an exception as its pipe is closed."""

_TEARDOWN_US: Final = calibrated(
    50_000,
    unit="µs",
    source="a pool of ProcessPoolExecutor that broke, on a busy host: its other workers had ended 5 ms before",
    date="2026-11-27",
)
"""A process that is killed closes its pipes a moment before it has ended: who waits for it may have ended the others by then."""

_LEAST_STEADY_US: Final = 10_000_000
"""Least length of a phase in which no steady rate is known, from which on it says where time goes."""

_LEAST_BEFORE_A_HANG_US: Final = 2_000_000
"""The same of one that ends with a hang."""


_PATIENCE_US: Final = 5_000_000
"""After which a program that was told to end may be killed for that it has not: Docker waits 10 s, ``rlprof try`` 12, Slurm 30."""


def crash_of(recording: Recording, profile: Profile, at_pace: Recording) -> Crash | None:
    """The crash of a run; None for one that ended well, was stopped, or of whose end nothing is known. A program that was told to end
    may do so with any exit code.

    ``at_pace`` is the recording of which ``profile`` is: windows of torch's profiler may be cut out of its clock.
    """
    code = recording.run.exit_code
    has_failed = is_bad_end(code) and not _ended_as_told(recording)
    dead = list(_dead_workers(recording, profile, at_pace, has_failed=has_failed))
    workers = tuple(worker for _, worker in dead)
    if not has_failed and not workers:
        return None
    return Crash(
        exit_code=code if has_failed else None,
        workers=workers,
        before_steady=_is_before_steady(profile, [process for process, _ in dead]),
    )


def _ended_as_told(recording: Recording) -> bool:
    """Tell whether it was told to end, and did; or was killed for that it did not. ``rlprof try`` stops recording before it ends a training:
    the clock stands still from then on, and nobody else waits.
    """
    run = recording.run
    if run.told_to_end_us is None:
        return False
    signum = signal_of(run.exit_code)
    waited_us = run.wall_us - run.told_to_end_us
    return signum is None or (signum is SIGKILL and (waited_us >= _PATIENCE_US or waited_us < 0))


def _dead_workers(
    recording: Recording, profile: Profile, at_pace: Recording, *, has_failed: bool
) -> Iterator[tuple[Process, DeadWorker]]:
    """Yield them in the order in which they died, each as ``at_pace`` has it, too."""
    told_us = recording.run.told_to_end_us
    for process in sorted(recording.processes, key=lambda process: process.ended_us or 0):
        code, ended_us = process.exit_code, process.ended_us
        if not code or ended_us is None or process.start_method == "root":
            continue
        own = at_pace.processes[process.id]
        left_us = recording.run.wall_us - ended_us
        if told_us is not None and ended_us >= told_us and signal_of(code) is None:
            continue
        is_death = _is_death(process, has_failed=has_failed, left_us=left_us)
        is_missed_then = profile.hang is not None and is_missed(own, profile.hang.start_us)
        if (
            is_death
            or is_missed_then
            or (has_failed and _is_killed_before_others(process, recording))
        ):
            role = profile.process_roles.get(process.id, "")
            yield own, DeadWorker(process.pid, role, code, ended_us)


def _is_death(process: Process, *, has_failed: bool, left_us: int) -> bool:
    """Tell whether a process with an exit code other than 0 was not just stopped, ``left_us`` before the run ended."""
    if is_worker_stopped_by(process.exit_code):
        return False
    if signal_of(process.exit_code) != SIGKILL and has_failed:
        return True
    return process.start_method in POOLED and left_us >= _BEFORE_THE_END_US


def _is_killed_before_others(process: Process, recording: Recording) -> bool:
    """Tell whether a worker was killed by SIGKILL, and others of the same parent ended badly with it or after it, each in another way.

    Who cleans up with SIGKILL has all of them killed, or those alone that outlast the others.
    """
    killed = exit_code_of_signal(SIGKILL)
    return (
        process.start_method in POOLED
        and process.exit_code == killed
        and any(
            other.ppid == process.ppid
            and other.start_method in POOLED
            and other.exit_code not in (None, 0, killed)
            and (other.ended_us or 0) > (process.ended_us or 0) - _TEARDOWN_US
            for other in recording.processes
        )
    )


def _is_before_steady(profile: Profile, dead: Sequence[Process]) -> bool:
    """Tell whether there was nothing steady to report on before the crash."""
    if profile.throughput.steady_sps is not None:
        return False
    steady = [phase for phase in profile.phases if phase.kind is PhaseKind.STEADY]
    if not steady:
        return True
    end_us = min((steady[-1].end_us, *(process.ended_us or 0 for process in dead)))
    # Of who was waited for in vain, it is known that it had worked.
    least_us = _LEAST_STEADY_US if profile.hang is None else _LEAST_BEFORE_A_HANG_US
    return end_us - steady[0].start_us < least_us


def without_a_steady_phase(profile: Profile) -> Profile:
    """``profile`` of a run that crashed too early: what comes after its start-up is called steady where nothing tells
    otherwise, and is warm-up here, so that the phases cover the run.
    """
    return replace(
        profile,
        phases=_never_steady(profile.phases),
        process_phases={
            process: _never_steady(phases) for process, phases in profile.process_phases.items()
        },
    )


def _never_steady(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    told: list[Phase] = []
    for phase in phases:
        kind = PhaseKind.WARM_UP if phase.kind is PhaseKind.STEADY else phase.kind
        if told and told[-1].kind is kind and told[-1].end_us == phase.start_us:
            told[-1] = replace(told[-1], end_us=phase.end_us)
        else:
            told.append(replace(phase, kind=kind))
    return tuple(told)
