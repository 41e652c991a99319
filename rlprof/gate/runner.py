"""Make planned runs, one at a time or two in turns, in fresh processes, and say what they came to."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from rlprof.errors import MeasureError
from rlprof.gate.measured_run import MeasuredRun, SteadyWindow, measured
from rlprof.gate.planned_run import PlannedRun, RunAnswer, command_for
from rlprof.gate.processes import ProcessSession, ended_without_a_word, last_lines, read_answer
from rlprof.gate.program import Counting, Program
from rlprof.gate.turns import TURN_S, TurnsTaken, turns_of
from rlprof.gate.worktrees.imported_files import (
    ImportedFiles,
    imported_files,
    refuse_foreign_imports,
)
from rlprof.model.counters import OF_A_GPU
from rlprof.model.profile import Interval

_LOOK_S: Final = 0.05
"""Between looks at whether one of two has ended."""

_NO_MODULE: Final = "ModuleNotFoundError"


class Runner:
    """Runs programs; what they leave on disk lies in ``folder``."""

    def __init__(
        self,
        folder: Path,
        *,
        timeout_s: float,
        counting: Counting,
        needs_rate: bool = True,
        trains_s: float | None = None,
    ) -> None:
        """``trains_s``: when a program is ended, in seconds after its first step; None to let it come to its end."""
        self._folder = folder
        self._timeout_s = timeout_s
        self._counting = counting
        self._needs_rate = needs_rate
        self._trains_s = trains_s

    def measure(self, program: Program, pair: int, *, is_full: bool = False) -> MeasuredRun:
        """Run ``program`` to its end.

        Raises :class:`MeasureError` when it fails, takes too long, or makes no steps that can be told.
        """
        run = self._plan(program, pair, is_full=is_full)
        return self._measured(run, self._made(run))

    def record(self, program: Program, pair: int) -> Path:
        """Run ``program`` to its end, sampled; its run file, whatever it tells of steps.

        Raises :class:`MeasureError` when it fails or takes too long.
        """
        run = self._plan(program, pair, is_full=True)
        self._made(run)
        return run.run_file

    def measure_in_turns(
        self, first: Program, second: Program, pair: int
    ) -> tuple[MeasuredRun, MeasuredRun]:
        """Run both to their ends, now the one, now the other; their rates are those of their own turns.

        Raises :class:`MeasureError` as :meth:`measure` does, and where one uses a GPU, which takes no turns.
        """
        one, other = (self._plan(program, pair) for program in (first, second))
        place = self._folder / f"pair-{pair}.turns"
        with _started(one) as its, _started(other, beside=(its,)) as others:
            taken = turns_of(
                (its, others), place, partial(self._see_end, ((one, its), (other, others)))
            )
        return in_own_turns(
            (self._measured(one, its), taken[0]), (self._measured(other, others), taken[1])
        )

    def _plan(self, program: Program, pair: int, *, is_full: bool = False) -> PlannedRun:
        return PlannedRun(
            program,
            pair,
            self._folder,
            self._counting,
            is_full=is_full,
            trains_s=self._trains_s,
        )

    def _made(self, run: PlannedRun) -> ProcessSession:
        """The session that it ran in; it has ended well."""
        with _started(run) as session:
            has_ended = session.wait(self._timeout_s) is not None
        if not has_ended:
            raise timed_out(run.name, run.log, self._timeout_s)
        check_end(run)
        return session

    def _see_end(
        self,
        running: Sequence[tuple[PlannedRun, ProcessSession]],
        are_taking_turns: Callable[[], bool],
    ) -> bool:
        """Wait until all have ended well; raises at the first that has not. False when nobody sees to their turns
        any more: one of them may be stopped for ever.
        """
        left = list(running)
        # Each of them has half of the time.
        limit_s = len(left) * self._timeout_s
        deadline = time.monotonic() + limit_s
        is_seen_to = True
        while left and is_seen_to:
            # Asked first: turns end when all have ended, and the last look must see that.
            is_seen_to = are_taking_turns()
            for run, session in tuple(left):
                if session.wait(_LOOK_S) is not None:
                    check_end(run)
                    left.remove((run, session))
                elif time.monotonic() > deadline:
                    raise timed_out(run.name, run.log, limit_s)
        return not left

    def _measured(self, run: PlannedRun, session: ProcessSession) -> MeasuredRun:
        imported = _imported(run)
        is_judged = not run.is_full
        found = measured(
            run.run_file,
            program=run.program,
            pair=run.pair,
            needs_rate=self._needs_rate and is_judged,
            needs_counters=is_judged and bool(self._counting.counters or not self._needs_rate),
            asked=self._counting.counters if is_judged else (),
        )
        return replace(found, left_behind=session.left_behind, imported=imported)


@contextmanager
def _started(run: PlannedRun, *, beside: Sequence[ProcessSession] = ()) -> Iterator[ProcessSession]:
    """It runs from the beginning of the ``with``, and has ended at its end."""
    run.imports.mkdir()
    try:
        with ProcessSession(
            command_for(run),
            environment=os.environ,
            folder=run.program.folder,
            log=run.log,
            beside=beside,
        ) as session:
            yield session
    finally:
        run.request.unlink(missing_ok=True)


def _imported(run: PlannedRun) -> ImportedFiles | None:
    """Return what it imported, once it has ended; None where the sides are no working trees of one repository.

    Raises :class:`MeasureError` as ``refuse_foreign_imports`` does.
    """
    checkout = run.program.checkout
    if checkout is None:
        return None
    found = imported_files(run.imports, checkout, _named_files(run.program))
    # Thousands of paths for each process of each run.
    shutil.rmtree(run.imports, ignore_errors=True)
    refuse_foreign_imports(found, run.program, run.name)
    return found


def _named_files(program: Program) -> list[Path]:
    """Files that words of its command name, where links lead to."""
    words = [word.rpartition("=")[2] for word in program.command]
    files = [program.folder / word for word in (*program.command, *words)]
    # A word may be longer than a path can be.
    return [Path(os.path.realpath(file)) for file in files if os.path.isfile(file)]  # noqa: PTH113 - raises nothing


# --- what goes wrong ------------------------------------------------------------------------


def check_end(run: PlannedRun) -> None:
    """Raise :class:`MeasureError` unless ``run``, which is over, ended well."""
    answer = read_answer(run.answer, RunAnswer)
    if answer is None:
        raise ended_without_a_word(f"the recording of {run.name}", run.log)
    if answer.failure is not None:
        why = answer.failure
        raise why._replace(message=f"{run.name} could not be recorded: {why.message}").error()
    if answer.exit_code:
        raise _failed(run, answer.exit_code)


def timed_out(run: str, log: Path, timeout_s: float) -> MeasureError:
    return MeasureError(
        f"{run} took longer than {timeout_s:g} s and was ended\n{last_lines(log)}",
        slug="program-timed-out",
        hint="let it train for fewer steps, or allow it more time with --timeout SECONDS",
    )


def _failed(run: PlannedRun, code: int) -> MeasureError:
    printed = run.program.without_secrets(last_lines(run.log))
    hint = "run it by itself to see why"
    if run.program.in_worktree:
        hint = (
            "base runs in a worktree of its own: files that git does not track are not there, and what "
            "is built must be built first (--prepare COMMAND)"
        )
    if _NO_MODULE in printed:
        hint = f"{run.program.command[0]} has no such module: --python names the interpreter of the training"
        # Nothing else is prepared: head and another command stand where they are.
        if run.program.in_worktree:
            hint += ", and --prepare builds what base lacks in its worktree"
    return MeasureError(
        f"{run.name} failed with exit code {code}\n{printed}",
        slug="program-failed",
        hint=hint,
    )


# --- two that took turns: the rate of each in its own, while both were steady -----------------

Run = tuple[MeasuredRun, TurnsTaken]

_MOST_IDLE: Final = 0.05
"""Part of the turns that may pass in waiting alone."""

PARTS: Final = 5
"""Equal parts of their time whose rates are told, too: with as many pairs an interval begins to hold."""


def in_own_turns(first: Run, second: Run) -> tuple[MeasuredRun, MeasuredRun]:
    """Both runs, with a rate, as if the turns of the other had not been.

    The rate is that of all steps of the time in which both were steady: what the machine did meanwhile, both
    have met. Raises :class:`MeasureError` where one used a GPU, where it waited for longer than turns last, and
    where they were not steady at the same time.
    """
    for run, _ in (first, second):
        _refuse_gpu(run)
    windows = [run.steady for run, _ in (first, second)]
    if not all(windows):
        raise _never_together()
    start, end = (
        max(window[0].start for window in windows),
        min(window[-1].end for window in windows),
    )
    return _alone(first, start, end), _alone(second, start, end)


def _alone(its: Run, start: float, end: float) -> MeasuredRun:
    """With the rate of its own turns in the whole windows between two times."""
    run, taken = its
    assert run.sps is not None, "without a rate runs take no turns"
    whole = [window for window in run.steady if start <= window.start and window.end <= end]
    rate = _rate(whole, taken)
    if rate is None:
        raise _never_together()
    if taken.idle_in(start, end) > _MOST_IDLE:
        raise _waits_too_long(run)
    parts: list[list[SteadyWindow]] = [[] for _ in range(PARTS)]
    for window in whole:
        middle = (window.start + window.end) / 2
        parts[int(PARTS * (middle - start) / (end - start))].append(window)
    return replace(
        run,
        sps=Interval(*(rate * sps / run.sps.median for sps in run.sps)),
        wall_s=run.wall_s * taken.share,
        waiting=taken.waiting_in(start, end),
        sps_of_parts=tuple(_rate(part, taken) for part in parts),
    )


def _rate(windows: Iterable[SteadyWindow], taken: TurnsTaken) -> float | None:
    """Steps per second of its own turns; None where there are none."""
    steps = active_s = 0.0
    for window in windows:
        steps += window.steps
        active_s += taken.active_in(window.start, window.end)
    return steps / active_s if steps and active_s else None


def _refuse_gpu(run: MeasuredRun) -> None:
    used = [name for name in OF_A_GPU if run.counters.per_step.get(name)]
    if used:
        raise MeasureError(
            f"{run.side.value} uses a GPU ({', '.join(used)}), and a GPU goes on while a process is stopped",
            slug="turns-on-gpu",
            hint="leave --interleave out: base and head then run one after the other",
        )


def _waits_too_long(run: MeasuredRun) -> MeasureError:
    return MeasureError(
        f"{run.side.value} waits for longer than its turns of {1000 * TURN_S:.0f} ms, and what it waits for goes on "
        "while the other side runs",
        slug="turns-too-short",
        hint="leave --interleave out: base and head then run one after the other",
    )


def _never_together() -> MeasureError:
    return MeasureError(
        "base and head, which took turns, were never in their steady phases at the same time",
        slug="no-steady-rate",
        hint="let them train for longer, or leave --interleave out, as where one side is many times faster and ends "
        "before the other is steady: they then run one after the other",
    )
