"""Run a program once, or two in turns, in fresh processes, and say what it came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from rlprof.gate.measured_run import MeasuredRun, measured
from rlprof.gate.processes.process_session import ProcessSession
from rlprof.gate.program import Program
from rlprof.gate.running.one_run import Counting
from rlprof.gate.running.own_turns import in_own_turns
from rlprof.gate.running.recorded_run import RecordedRun
from rlprof.gate.running.turns import turns_of

_LOOK_S: Final = 0.05
"""Between looks at whether one of two has ended."""


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
        return in_own_turns(
            (self._measured(one, its), taken[0]), (self._measured(other, others), taken[1])
        )

    def _see_end(
        self,
        running: Sequence[tuple[RecordedRun, ProcessSession]],
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
                    run.check_end()
                    left.remove((run, session))
                elif time.monotonic() > deadline:
                    raise run.timed_out(limit_s)
        return not left

    def _measured(self, run: RecordedRun, session: ProcessSession) -> MeasuredRun:
        imported = run.imported()
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
