"""A check of head against base, in pairs of runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rlprof.gate.check_progress import CheckProgress, Tell, time_left
from rlprof.gate.check_settings import CheckSettings
from rlprof.gate.counters import compare_counters
from rlprof.gate.decision import Pair, decide
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.outcome import Outcome, Verdict
from rlprof.gate.program import Program, Side
from rlprof.gate.running.runner import Runner
from rlprof.gate.workload import check_same_steps, check_same_unit


def programs_in_turn(base: Program, head: Program, pair: int) -> tuple[Program, Program]:
    """ABBA: what a machine does over time, as to grow warm, falls on both sides alike."""
    return (base, head) if pair % 2 else (head, base)


def check_pairs(
    base: Program, head: Program, runner: Runner, settings: CheckSettings, tell: Tell
) -> Outcome:
    """Run both in turn until it is decided; never raises :class:`MeasureError`."""
    progress = CheckProgress(settings, tell)
    return progress.outcome(partial(_judge, (base, head), runner, progress), base.name, head)


def _judge(sides: tuple[Program, Program], runner: Runner, progress: CheckProgress) -> Verdict:
    settings = progress.settings
    wanted = settings.first_pairs
    number = 0
    while number < wanted:
        number += 1
        progress.tell(f"pair {number} of {wanted}{time_left(progress.runs, 2 * wanted)}")
        for run in _runs_of_pair(sides, number, runner, in_turns=settings.in_turns):
            progress.add(run)
        was, now = (progress.of(side)[-1] for side in (Side.BASE, Side.HEAD))
        check_same_unit((was.unit, was.source), (now.unit, now.source))
        if not settings.counters_only:
            _check_steps(progress)
        counted = progress.counted(Side.BASE), progress.counted(Side.HEAD)
        progress.counters = compare_counters(*counted, settings.tolerances)
        verdict = progress.verdict_of_counters()
        if verdict is not None:
            return verdict
        if number == wanted:
            rates = zip(progress.rates(Side.BASE), progress.rates(Side.HEAD), strict=True)
            pairs = [Pair(*it) for it in rates]
            wanted += progress.take(decide(pairs, settings.decision, in_turns=settings.in_turns))
    return progress.verdict_of_rates()


def _runs_of_pair(
    sides: tuple[Program, Program], number: int, runner: Runner, *, in_turns: bool
) -> Iterator[MeasuredRun]:
    """As soon as each is measured: it is told too when the next one fails."""
    first, second = programs_in_turn(*sides, number)
    if in_turns:
        yield from runner.measure_in_turns(first, second, number)
    else:
        yield runner.measure(first, number)
        yield runner.measure(second, number)


def _check_steps(progress: CheckProgress) -> None:
    base, head = ([run.steps for run in progress.of(side)] for side in (Side.BASE, Side.HEAD))
    check_same_steps(base, head, (progress.rates(Side.BASE), progress.rates(Side.HEAD)))
