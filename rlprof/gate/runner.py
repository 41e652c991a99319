"""Run a program once, in fresh processes, and say what it came to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rlprof import wording
from rlprof.analysis.own_pace import at_own_pace
from rlprof.analysis.profile import build_profile
from rlprof.analysis.steps import count_steps
from rlprof.errors import MeasureError, RlprofError, RunFileError
from rlprof.gate.counters import RunCounters
from rlprof.gate.launches import launches_of
from rlprof.gate.one_run import Counting, command_for, read_answer, request_of
from rlprof.gate.process_session import ProcessSession
from rlprof.gate.program import Program, Side
from rlprof.gate.program_output import last_lines
from rlprof.model.counters import KERNEL_LAUNCHES, PROCESSES, is_of_steps
from rlprof.model.profile import Interval, Throughput
from rlprof.model.recording import Recording
from rlprof.runfile.reader import read_run

COUNTER_DIGITS: Final = 10


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run of one side. It ended well."""

    side: Side
    pair: int
    """Counted from 1."""
    sps: Interval | None
    """Steady; None where only counters were asked for and the run was too short for a rate."""
    unit: str
    """``steps``, or ``updates`` where optimizer steps stand in."""
    source: str
    counters: RunCounters
    """Of the whole run: where its steady phase begins is not known exactly."""
    wall_s: float
    run_file: Path
    left_behind: int = 0
    """Processes that were still there after its end; they were killed."""

    @property
    def steps(self) -> float:
        return self.counters.steps


class Runner:
    """Runs programs one after the other; what they leave on disk lies in ``folder``."""

    def __init__(
        self, folder: Path, *, timeout_s: float, counting: Counting, needs_rate: bool = True
    ) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._counting = counting
        self._needs_rate = needs_rate

    def measure(self, program: Program, pair: int, *, is_full: bool = False) -> MeasuredRun:
        """Run ``program`` to its end.

        Raises :class:`MeasureError` when it fails, takes too long, or makes no steps that can be told.
        """
        name = f"{'full' if is_full else 'pair'}-{pair}-{program.side.value}"
        place = self._folder / f"{name}.rlprof"
        request = request_of(
            _to_start(program, pair),
            place,
            is_full=is_full,
            label=program.name,
            counting=self._counting,
        )
        log = place.with_suffix(".log")
        asked = place.with_suffix(".request.json")
        try:
            with ProcessSession(
                command_for(request, asked),
                environment=os.environ,
                folder=program.folder,
                log=log,
            ) as session:
                code = session.wait(self._timeout_s)
        finally:
            asked.unlink(missing_ok=True)
        if code is None:
            raise _timed_out(program, pair, self._timeout_s, log)
        answer = read_answer(request)
        if answer is None:
            raise MeasureError(
                f"the recording of {program.run_name(pair)} ended without a word\n{last_lines(log)}",
                slug="recording-lost",
                hint="was it killed, or is the machine out of memory? Otherwise please report it",
            )
        if answer.slug:
            raise MeasureError(
                f"{program.run_name(pair)} could not be recorded: {answer.message}",
                slug=answer.slug,
                hint=answer.hint,
            )
        if answer.exit_code:
            raise _failed(program, pair, answer.exit_code, log)
        run = measured(
            place,
            program=program,
            pair=pair,
            needs_rate=self._needs_rate and not is_full,
            needs_counters=not is_full and bool(self._counting.counters or not self._needs_rate),
            asked=() if is_full else self._counting.counters,
        )
        return replace(run, left_behind=session.left_behind)


def _to_start(program: Program, pair: int) -> Program:
    """``program`` in an environment as of a shell in its folder.

    The hash seed is the same on both sides and another one in the next pair: the order of a set changes
    how fast a program is, and one seed alone would count as the program.
    """
    environment = {"PYTHONHASHSEED": str(pair), **program.environment, "PWD": str(program.folder)}
    environment.pop("OLDPWD", None)
    return replace(program, environment=environment)


def measured(
    run_file: Path,
    *,
    program: Program,
    pair: int,
    needs_rate: bool,
    needs_counters: bool = False,
    asked: Sequence[str] = (),
) -> MeasuredRun:
    """What the run in ``run_file`` came to; raises :class:`MeasureError` where it lacks what is needed.

    ``asked`` are counters that must be told.
    """
    try:
        recording = read_run(run_file)
    except RunFileError as error:
        raise MeasureError(error.message, slug=error.slug, hint=error.hint) from error
    # Without need of a rate nothing is cut: windows of torch's profiler may cover all steps of a short run.
    throughput = build_profile(at_own_pace(recording) if needs_rate else recording).throughput
    throughput = replace(throughput, total_steps=count_steps(recording).total)
    _check_steps(throughput, program, pair)
    sps = throughput.steady_sps
    if sps is not None and sps.median <= 0:
        sps = None
    if sps is None and needs_rate:
        raise _no_rate(throughput, program, pair)
    if needs_counters:
        _check_counted(recording, throughput, program, pair)
    told = dict.fromkeys(asked, 0.0)
    if KERNEL_LAUNCHES in told:
        told[KERNEL_LAUNCHES] = launches_of(recording, program.run_name(pair))
    return MeasuredRun(
        side=program.side,
        pair=pair,
        sps=sps,
        unit=throughput.unit,
        source=throughput.source,
        counters=_counters(recording, throughput.total_steps, told),
        wall_s=recording.run.wall_us / 1e6,
        run_file=run_file,
    )


def _counters(recording: Recording, steps: float, told: Mapping[str, float]) -> RunCounters:
    """``told``: what is not in the recording's counters, and those that are in any case there."""
    if not steps:
        return RunCounters({}, 0.0)  # The program prints its rate alone.
    totals = dict(told)
    for counter in recording.counters:
        if is_of_steps(counter.name):
            totals[counter.name] = totals.get(counter.name, 0.0) + counter.value
    totals[PROCESSES] = sum(1 for it in recording.processes if it.python)
    # To as many digits as a baseline keeps: what is the same must be equal to it.
    per_step = {
        name: float(f"{value / steps:.{COUNTER_DIGITS}g}") for name, value in totals.items()
    }
    return RunCounters(per_step, steps)


# --- what goes wrong ------------------------------------------------------------------------


def _check_steps(throughput: Throughput, program: Program, pair: int) -> None:
    if throughput.unit == "none" or throughput.source == "none":
        raise MeasureError(
            f"{program.run_name(pair)} ended well, but nothing counted its steps",
            slug="no-steps",
            hint="count them with rlprof.step(n) in the loop, or tell rlprof where they are: "
            "--steps-from MODULE:FUNCTION, --sps-pattern REGEX",
        )


def _no_rate(throughput: Throughput, program: Program, pair: int) -> RlprofError:
    lack = wording.unglued(wording.lack_of_rate(throughput)) or "its steady rate is zero"
    return MeasureError(
        f"{program.run_name(pair)} never came to a steady rate: {lack}",
        slug="no-steady-rate",
        hint="let it train for longer, ten seconds or more after its warm-up; "
        "--counters-only needs no rate",
    )


def _check_counted(
    recording: Recording, throughput: Throughput, program: Program, pair: int
) -> None:
    if not any(it.python for it in recording.processes):
        raise MeasureError(
            f"nothing was counted in {program.run_name(pair)} since none of its processes carried rlprof's agent",
            slug="counters-unseen",
            hint="start Python without -E, -I and -S, and leave PYTHONPATH in its environment",
        )
    if not throughput.total_steps:
        raise MeasureError(
            f"{program.run_name(pair)} prints its rate and not its steps, so that nothing is known per step",
            slug="counters-unseen",
            hint="count them with rlprof.step(n) in the loop, with --steps-from MODULE:FUNCTION, or with a "
            "--sps-pattern that finds (?P<steps>...)",
        )


def _failed(program: Program, pair: int, code: int, log: Path) -> RlprofError:
    hint = (
        "base runs in a worktree of its own: files that git does not track are not there, and what "
        "is built must be built first (--prepare COMMAND)"
        if program.side is Side.BASE
        else "run it by itself to see why"
    )
    return MeasureError(
        f"{program.run_name(pair)} failed with exit code {code}\n{last_lines(log)}",
        slug="program-failed",
        hint=hint,
    )


def _timed_out(program: Program, pair: int, timeout_s: float, log: Path) -> RlprofError:
    return MeasureError(
        f"{program.run_name(pair)} took longer than {timeout_s:g} s and was ended\n{last_lines(log)}",
        slug="program-timed-out",
        hint="let it train for fewer steps, or allow it more time with --timeout SECONDS",
    )
