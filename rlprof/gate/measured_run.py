"""Tell what one run of a program came to, as its run file tells."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.device.blocking import is_launch
from rlprof.device.steps import optimizer_step_ends
from rlprof.device.torch_windows import UPDATE_KINDS, WindowView, view_windows
from rlprof.errors import MeasureError, RlprofError, RunFileError
from rlprof.gate.counters import RunCounters
from rlprof.gate.program import Program, Side
from rlprof.gate.worktrees.imported_files import ImportedFiles
from rlprof.libraries.step_sources import is_of_steps
from rlprof.model.counters import KERNEL_LAUNCHES, PROCESSES, UPDATES
from rlprof.model.profile import Interval, PhaseKind, Throughput
from rlprof.model.recording import Recording
from rlprof.pace.own_pace import at_own_pace
from rlprof.pace.pace import Pace, measure_pace
from rlprof.pace.steps import count_steps
from rlprof.report import wording
from rlprof.runfile.reader import read_run


class SteadyWindow(NamedTuple):
    start: float
    """Unix time (s)."""
    end: float
    steps: float


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run of one side. It ended well."""

    side: Side
    pair: int
    """Counted from 1."""
    sps: Interval | None
    """Steady, of all steps; None where only counters were asked for and the run was too short for a rate."""
    unit: str
    """``steps``, or ``updates`` where optimizer steps stand in."""
    source: str
    counters: RunCounters
    """Counters of the whole run: where its steady phase begins is not known exactly."""
    wall_s: float
    run_file: Path
    steady: tuple[SteadyWindow, ...] = ()
    """Windows of the steady phase."""
    left_behind: int = 0
    """Processes that were still there after its end; they were killed."""
    imported: ImportedFiles | None = None
    """None where the sides are no working trees of one repository."""
    waiting: float = 0.0
    """Part of its turns in which it waited for something else than a CPU; 0 where it took no turns."""
    sps_of_parts: tuple[float | None, ...] = ()
    """Rates of equal parts of the time in which both took turns, None where no steps were told of one; empty where they took no turns."""

    @property
    def steps(self) -> float:
        return self.counters.steps


def measured(
    run_file: Path,
    *,
    program: Program,
    pair: int,
    needs_rate: bool,
    needs_counters: bool = False,
    asked: Sequence[str] = (),
) -> MeasuredRun:
    """Return what the run in ``run_file`` came to; raises :class:`MeasureError` where it lacks what is needed.

    ``asked`` are counters that must be told.
    """
    try:
        recording = read_run(run_file)
    except RunFileError as error:
        raise error.converted_to(MeasureError) from error
    # Without need of a rate nothing is cut: windows of torch's profiler may cover all steps of a short run.
    pace = measure_pace(at_own_pace(recording) if needs_rate else recording)
    throughput = replace(pace.throughput, total_steps=count_steps(recording).total)
    name = program.run_name(pair)
    _check_steps(recording, throughput, name)
    steady = tuple(_steady_windows(recording.run.started_unix_s, pace))
    sps = _of_all_steps(throughput, steady)
    if sps is None and needs_rate:
        raise _no_rate(throughput, name)
    if needs_counters:
        _check_counted(recording, throughput, name)
    told = dict.fromkeys(asked, 0.0)
    if KERNEL_LAUNCHES in told:
        told[KERNEL_LAUNCHES] = launches_of(recording, name)
    return MeasuredRun(
        side=program.side,
        pair=pair,
        sps=sps,
        unit=throughput.unit,
        source=throughput.source,
        counters=_counters(recording, throughput.total_steps, told),
        wall_s=recording.run.wall_us / 1e6,
        run_file=run_file,
        steady=steady,
    )


def _of_all_steps(throughput: Throughput, steady: Sequence[SteadyWindow]) -> Interval | None:
    """The steady rate, of all its steps over all its time; None where it is not known, or zero.

    The median of the windows, which a report tells, does not see what a run does now and then, as to save.
    """
    settled = throughput.steady_sps
    if settled is None or settled.median <= 0:
        return None
    if not throughput.total_steps or not steady:
        return settled  # The program prints its rate now and then, and that is all there is.
    steps, time_s = (
        sum(window.steps for window in steady),
        sum(window.end - window.start for window in steady),
    )
    return Interval(*(sps / settled.median * steps / time_s for sps in settled))


def _steady_windows(begun: float, pace: Pace) -> Iterator[SteadyWindow]:
    """``begun``: the start of the run, in Unix time."""
    phases = [phase for phase in pace.phases if phase.kind is PhaseKind.STEADY]
    for start_us, end_us, rate in pace.throughput.series:
        if any(phase.start_us <= start_us and end_us <= phase.end_us for phase in phases):
            yield SteadyWindow(
                begun + start_us / 1e6, begun + end_us / 1e6, rate * (end_us - start_us) / 1e6
            )


def _counters(recording: Recording, steps: float, told: Mapping[str, float]) -> RunCounters:
    """``told``: what is not in the recording's counters, and those that are in any case there."""
    if not steps:
        return RunCounters({}, 0.0)  # The program prints its rate alone.
    totals = dict(told)
    for counter in recording.counters:
        if is_of_steps(counter.name):
            totals[counter.name] = totals.get(counter.name, 0.0) + counter.value
    totals[PROCESSES] = sum(1 for process in recording.processes if process.python)
    # Not rounded: of large totals an event more or less is all that may differ.
    return RunCounters({name: value / steps for name, value in totals.items()}, steps)


# --- what goes wrong ------------------------------------------------------------------------


def _check_steps(recording: Recording, throughput: Throughput, run: str) -> None:
    if throughput.unit == "none" or throughput.source == "none":
        _check_agent(recording, run)
        raise MeasureError(
            f"{run} ended well, but nothing counted its steps",
            slug="no-steps",
            hint="count them with rlprof.step(n) in the loop, or tell rlprof where they are: "
            "--steps-from MODULE:FUNCTION, --sps-pattern REGEX (an environment of your own is found by "
            "its use in rlprof run alone: how many steps pass before would differ from run to run)",
        )


def _no_rate(throughput: Throughput, run: str) -> RlprofError:
    lack = wording.unglued(wording.lack_of_rate(throughput)) or "its steady rate is zero"
    return MeasureError(
        f"{run} never came to a steady rate: {lack}",
        slug="no-steady-rate",
        hint="let it train for longer, ten seconds or more after its warm-up; "
        "`rlprof check --counters-only` needs no rate",
    )


def _check_counted(recording: Recording, throughput: Throughput, run: str) -> None:
    _check_agent(recording, run)
    if not throughput.total_steps:
        raise MeasureError(
            f"{run} prints its rate and not its steps, so that nothing is known per step",
            slug="counters-unseen",
            hint="count them with rlprof.step(n) in the loop, with --steps-from MODULE:FUNCTION, or with a "
            "--sps-pattern that finds (?P<steps>...)",
        )


def _check_agent(recording: Recording, run: str) -> None:
    if not any(process.python for process in recording.processes):
        raise MeasureError(
            f"nothing was counted in {run} since none of its processes carried rlprof's agent",
            slug="counters-unseen",
            hint="start Python without -E, -I and -S; let a command that sets PYTHONPATH add to it, "
            "sh -c 'PYTHONPATH=src:$PYTHONPATH python train.py', or set it for rlprof itself; what is no Python is read "
            "by --sps-pattern",
        )


# --- launches of kernels, from the first window of torch's profiler in each process --------------

FIRST: Final = 0
"""The window that begins after a number of updates, and so at the same one in every run; later ones begin
by the clock."""

_UNSEEN: Final = 0.01
"""Part of the updates that may be made where no window was taken: by a process that only tries something."""

_FATES: Final = {
    "given-up": "a profiler of its own was on",
    "failed": "the trace could not be taken or written",
    "lost": "the run ended before the profiler did",
}


def launches_of(recording: Recording, run: str) -> float:
    """Return the launches of all updates of ``run``. Raises :class:`MeasureError` where they cannot be told."""
    updates: dict[int, float] = defaultdict(float)
    for counter in recording.counters:
        if counter.name == UPDATES:
            updates[counter.process] += counter.value
    made = sum(updates.values())
    if not made:
        raise _unseen(run, "it made no optimizer steps that torch tells of")
    first = [
        window
        for window in recording.torch_windows
        if window.number == FIRST and window.kind in UPDATE_KINDS and window.process in updates
    ]
    told = {window.window.process: _per_update(window) for window in view_windows(first)}
    seen = {process: rate for process, rate in told.items() if rate is not None}
    if sum(updates[process] for process in updates.keys() - seen.keys()) > _UNSEEN * made:
        fates = {window.fate for window in first if window.process not in seen}
        why = [_FATES[fate] for fate in sorted(fates) if fate in _FATES]
        raise _unseen(
            run, why[0] if why else "not all of its processes had a window of torch's profiler"
        )
    total = sum(updates[process] * rate for process, rate in seen.items())
    if not total:
        raise _unseen(run, "the updates that torch's profiler saw used no GPU")
    return total


def _per_update(window: WindowView) -> float | None:
    """Launches up to the end of the last update in the window, for it may end amid another."""
    if window.view is None:
        return None
    ends = optimizer_step_ends(window.view.trace)
    if not ends:
        return (
            window.view.kernels.launches / window.window.updates if window.window.updates else None
        )
    launches = sorted(call.ts for call in window.view.trace.calls if is_launch(call))
    return bisect_right(launches, ends[-1]) / len(ends)


def _unseen(run: str, why: str) -> MeasureError:
    return MeasureError(
        f"the kernel launches of {run} could not be seen: {why}",
        slug="launches-unseen",
        hint="they are told from torch's profiler over the first updates on a GPU; leave "
        "--counter kernel_launches=... out where there is none",
    )
