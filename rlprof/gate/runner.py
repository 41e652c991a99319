"""Run a program once, or two in turns, in fresh processes, and say what it came to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from rlprof import wording
from rlprof.analysis.own_pace import at_own_pace
from rlprof.analysis.profile import build_profile
from rlprof.analysis.steps import count_steps
from rlprof.errors import MeasureError, RlprofError, RunFileError
from rlprof.gate.counters import RunCounters
from rlprof.gate.launches import launches_of
from rlprof.gate.one_run import Counting
from rlprof.gate.process_session import ProcessSession
from rlprof.gate.program import Program, Side
from rlprof.gate.recorded_run import RecordedRun
from rlprof.gate.turns import TurnsTaken, turns_of
from rlprof.model.counters import (
    D2H_BYTES,
    GPU_SYNCS,
    H2D_BYTES,
    KERNEL_LAUNCHES,
    PROCESSES,
    is_of_steps,
)
from rlprof.model.profile import Interval, Throughput
from rlprof.model.recording import Recording
from rlprof.runfile.reader import read_run

COUNTER_DIGITS: Final = 10

_OF_A_GPU: Final = (GPU_SYNCS, H2D_BYTES, D2H_BYTES)

_LOOK_S: Final = 0.05
"""Between looks at whether one of two has ended."""


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
    waiting: float = 0.0
    """Part of its turns in which it waited for something else than a CPU; 0 where it took no turns."""

    @property
    def steps(self) -> float:
        return self.counters.steps


class Runner:
    """Runs programs; what they leave on disk lies in ``folder``."""

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
        run = RecordedRun(program, pair, self._folder, self._counting, is_full=is_full)
        with run.session() as session:
            has_ended = session.wait(self._timeout_s) is not None
        if not has_ended:
            raise run.timed_out(self._timeout_s)
        run.check_end()
        return self._measured(run, session)

    def measure_in_turns(
        self, first: Program, second: Program, pair: int
    ) -> tuple[MeasuredRun, MeasuredRun]:
        """Run both to their ends, now the one, now the other; their rates are those of their own turns.

        Raises :class:`MeasureError` as :meth:`measure` does, and where one uses a GPU, which takes no turns.
        """
        one, other = (RecordedRun(it, pair, self._folder, self._counting) for it in (first, second))
        place = self._folder / f"pair-{pair}.turns"
        with one.session() as its, other.session(beside=(its,)) as others:
            taken = turns_of(
                (its, others), place, partial(self._see_end, ((one, its), (other, others)))
            )
        return (
            in_own_turns(self._measured(one, its), taken[0]),
            in_own_turns(self._measured(other, others), taken[1]),
        )

    def _see_end(self, running: Sequence[tuple[RecordedRun, ProcessSession]]) -> None:
        """Wait until all have ended well; raises at the first that has not."""
        left = list(running)
        # Each of them has half of the time.
        deadline = time.monotonic() + len(left) * self._timeout_s
        while left:
            for run, session in tuple(left):
                if session.wait(_LOOK_S) is not None:
                    run.check_end()
                    left.remove((run, session))
                elif time.monotonic() > deadline:
                    raise run.timed_out(self._timeout_s)

    def _measured(self, run: RecordedRun, session: ProcessSession) -> MeasuredRun:
        is_judged = not run.is_full
        found = measured(
            run.run_file,
            program=run.program,
            pair=run.pair,
            needs_rate=self._needs_rate and is_judged,
            needs_counters=is_judged and bool(self._counting.counters or not self._needs_rate),
            asked=self._counting.counters if is_judged else (),
        )
        return replace(found, left_behind=session.left_behind)


def in_own_turns(run: MeasuredRun, taken: TurnsTaken) -> MeasuredRun:
    """``run`` as if the turns of others had not been; raises :class:`MeasureError` where it used a GPU."""
    on_gpu = [name for name in _OF_A_GPU if run.counters.per_step.get(name)]
    if on_gpu:
        raise MeasureError(
            f"{run.side.value} uses a GPU ({', '.join(on_gpu)}), and a GPU goes on while a process is stopped",
            slug="turns-on-gpu",
            hint="leave --interleave out: base and head then run one after the other",
        )
    sps = None if run.sps is None else Interval(*(it / taken.share for it in run.sps))
    return replace(run, sps=sps, wall_s=run.wall_s * taken.share, waiting=taken.waiting)


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
