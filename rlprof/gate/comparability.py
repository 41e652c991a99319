"""Tell whether the runs of both sides can be held against each other: errors where not, remarks on what else to know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from statistics import median
from typing import Final, NamedTuple

from rlprof.errors import MeasureError
from rlprof.gate.counters import CounterDifference, RunCounters
from rlprof.gate.decision import Verdict
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.program import Side
from rlprof.gate.turns import TURN_S
from rlprof.gate.worktrees.imported_files import ImportedFiles
from rlprof.model.counters import PROCESSES
from rlprof.model.recording import Note
from rlprof.names import printable
from rlprof.report import wording
from rlprof.units import count

TOLERANCE: Final = 0.02
"""Relative difference in steps that a last, half filled rollout may make."""

_FEWEST_RUNS: Final = 3
"""Runs a side, below which steps that vary from run to run cannot be told from other work."""

_FEWEST_ALIKE: Final = 2
"""The same, of steps that do not vary."""


class Work(NamedTuple):
    """All that one side did so far, one entry a run."""

    unit: str
    source: str
    steps: Sequence[float]
    rates: Sequence[float]
    """Empty where they were not asked for."""
    counters: Sequence[RunCounters]

    @classmethod
    def of(cls, side: Side, runs: Sequence[MeasuredRun]) -> Work:
        """At least one of ``runs`` is of ``side``."""
        runs = [run for run in runs if run.side is side]
        return cls(
            unit=runs[-1].unit,
            source=runs[-1].source,
            steps=[run.steps for run in runs],
            rates=[run.sps.median for run in runs if run.sps is not None],
            counters=[run.counters for run in runs],
        )


def check_same_unit(base: Work, head: Work) -> None:
    """Raise :class:`MeasureError` where they count different things."""
    if (base.unit, base.source) != (head.unit, head.source):
        raise MeasureError(
            f"base and head count different things: {_counted(base)} and {_counted(head)}",
            slug="different-units",
            hint="count the same thing in both with --steps-from MODULE:FUNCTION or --sps-pattern",
        )


def check_same_steps(base: Work, head: Work) -> None:
    """Raise :class:`MeasureError` when all runs of one side made more steps than all of the other.

    Programs that train for a time make as many steps as they can: where the rates differ likewise, that is
    let pass.
    """
    do_vary = len({*base.steps}) > 1 or len({*head.steps}) > 1
    if min(len(base.steps), len(head.steps)) < (_FEWEST_RUNS if do_vary else _FEWEST_ALIKE):
        return
    if max(base.steps) >= min(head.steps) and max(head.steps) >= min(base.steps):
        return
    was, now = median(base.steps), median(head.steps)
    if not was or not now:
        return  # Who prints a rate alone does not say how many steps it makes.
    change = log(now / was)
    has_rates = base.rates and head.rates
    explained = log(median(head.rates) / median(base.rates)) if has_rates else 0.0
    if abs(change) <= TOLERANCE or abs(change - explained) < abs(change) / 2:
        return
    raise MeasureError(
        f"base and head do different work: base makes {count(was)} steps, head {count(now)}",
        slug="different-steps",
        hint="give both the same number of steps, or let both train for the same time",
    )


def _counted(work: Work) -> str:
    # A baseline file may hold anything.
    return f"{printable(work.unit)} ({printable(work.source)})"


# --- remarks ----------------------------------------------------------------------------------

MUCH_LONGER: Final = 1.2
"""Times as long as those of base that runs of head may take without a word, though their rate has passed."""

MUCH_WAITING: Final = 0.1
"""Part of its turns that a run may wait without a word."""


def on_runs(runs: Sequence[MeasuredRun]) -> Iterator[Note]:
    left = sum(run.left_behind for run in runs)
    if left:
        yield Note(
            "info",
            "processes-left-behind",
            f"The runs left {wording.counted(left, 'process', 'processes')} behind; they were ended, so as not to slow "
            "the next run down.",
        )
    yield from _on_imports(
        [run.imported for run in runs if run.imported is not None and run.side is Side.BASE]
    )
    waiting = max((run.waiting for run in runs), default=0.0)
    if waiting > MUCH_WAITING:
        yield Note(
            "warning",
            "waited-in-turns",
            wording.unglued(
                f"A run waited for something else than a CPU in {wording.percent(waiting)} of its turns. Such waits "
                f"go on while the other has its turn: a slowdown by waits of 10 ms is seen as one of nine tenths of it, "
                f"by waits of {1000 * TURN_S:.0f} ms as two thirds. Without --interleave they count in full."
            ),
        )


def _on_imports(imported: Sequence[ImportedFiles]) -> Iterator[Note]:
    """Yield notes on runs of a base in its worktree."""
    if not all(files.is_told for files in imported):
        yield Note(
            "warning",
            "imports-unknown",
            "Base did not tell which files it imported: if the project is installed editable, it may have run head's.",
        )
        return
    copies = next((files.copies for files in imported if files.copies), ())
    if copies:
        what = f"Base imported a copy of {copies[0]}, as an installed one, and not that of its worktree"
    elif any(not files.own for files in imported):
        what = "Base imported no file of its worktree"
    else:
        return
    yield Note(
        "warning",
        "base-imports-installed",
        f"{what}: such a copy is the same on both sides. Install the project editable, or compare two "
        "environments with --base-command.",
    )


def on_passed_rates(runs: Sequence[MeasuredRun]) -> Iterator[Note]:
    """Return what a pass leaves unsaid: a rate is that of the steady phase."""
    base, head = (_usual([run.wall_s for run in runs if run.side is side]) for side in Side)
    if base and head > MUCH_LONGER * base:
        yield Note(
            "warning",
            "longer-runs",
            f"Runs of head took {head:.1f} s from start to end, and those of base {base:.1f} s: start-up, warm-up and "
            "shutdown are no part of the rate.",
        )


def on_counters(
    verdict: Verdict, runs: Sequence[MeasuredRun], counters: Sequence[CounterDifference]
) -> Iterator[Note]:
    """Return what to know of a check that counters decided."""
    base, head = (_usual([run.steps for run in runs if run.side is side]) for side in Side)
    if base and head and abs(log(head / base)) > TOLERANCE:
        yield Note(
            "warning",
            "other-steps",
            f"Base made {count(base)} steps and head {count(head)}. A counter fails only where head has more in "
            "total too, so give both the same number of steps.",
        )
    if (
        verdict is Verdict.PASS
        and runs
        and all(
            counter.name == PROCESSES or not (counter.base or counter.head) for counter in counters
        )
    ):
        yield Note(
            "warning",
            "little-counted",
            "Nothing was counted but processes, so that this pass says nothing of what a step does.",
        )


def _usual(values: Sequence[float]) -> float:
    """0 without any."""
    return median(values) if values else 0.0
