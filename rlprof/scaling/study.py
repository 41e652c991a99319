"""Tell what a ladder tells: the best number of workers, what bounds it, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rlprof.model.calibration import calibrated
from rlprof.model.recording import Note
from rlprof.pace.scaling import Fit, Point, differ, fit_amdahl, fit_usl
from rlprof.report.wording import counted
from rlprof.scaling.ladder import LadderRun, Rung, rungs_of
from rlprof.units import count, percent

STILL_GROWS: Final = 1.5
"""Factor that twice the workers must bring, by the law, for the rate to count as bounded by nothing yet."""

CORES_USED: Final = 0.8
"""Part of the cores' time that the training has, from which on more workers find none free."""

CROWDED: Final = calibrated(
    0.1,
    unit="part of the usable cores",
    source="an idle machine with rlprof's samplers shows 0.01 to 0.02, one that is shared by two "
    "0.2 and more",
    date="2026-11-21",
)
"""Part taken by others, from which on a rate is not the training's own."""

STARVED: Final = 0.3
"""As ``CROWDED``, from which on nothing else can be said to bound the rate."""

POOR_FIT: Final = 0.1
"""Relative distance from the curve above which a law does not describe the ladder."""

FURTHEST_PEAK: Final = 2.0
"""Times the largest count that was run: a peak beyond it is a guess, and not named."""


@dataclass(frozen=True, slots=True)
class Study:
    """A ladder, fitted and judged."""

    command: tuple[str, ...]
    """As it was given, with ``{}`` where the number of workers goes."""
    runs: tuple[LadderRun, ...]
    """In the order in which they ran."""
    rungs: tuple[Rung, ...]
    """By number of workers."""
    amdahl: Fit | None
    usl: Fit | None
    best: Rung | None
    """The highest rate that was measured."""
    enough: Rung | None
    """The fewest workers whose rate the spread cannot tell from the best."""
    bound: str
    """Cause that bounds the rate at the best count, a part of a sentence; empty without one."""
    notes: tuple[Note, ...]

    @property
    def profile_bound(self) -> str:
        """Cause by the profile of the best count's last run; empty when it cannot tell."""
        return "" if self.best is None else self.best.runs[-1].bound

    @property
    def fit(self) -> Fit | None:
        """The law that is drawn: the general one where there are counts enough."""
        return self.usl or self.amdahl

    @property
    def usable_cores(self) -> float:
        return max((run.usable_cores for run in self.runs), default=1.0)


def study_of(
    command: Sequence[str], runs: Sequence[LadderRun], *, interrupted: bool = False
) -> Study:
    """Fit and judge a ladder; works on any, one without a single good run included."""
    rungs = rungs_of(runs)
    points = [
        Point(rung.workers, run.sps) for rung in rungs for run in rung.runs if run.sps is not None
    ]
    amdahl, usl = fit_amdahl(points), fit_usl(points)
    best = max(rungs, key=lambda rung: rung.sps.median, default=None)
    alike = (rung for rung in rungs if best is not None and not differ(rung.sps, best.sps))
    return Study(
        command=tuple(command),
        runs=tuple(runs),
        rungs=rungs,
        amdahl=amdahl,
        usl=usl,
        best=best,
        enough=next(alike, None),
        bound="" if best is None else _bound(best, rungs, amdahl, usl),
        notes=tuple(_notes(runs, rungs, usl or amdahl, interrupted=interrupted)),
    )


def _bound(best: Rung, rungs: Sequence[Rung], amdahl: Fit | None, usl: Fit | None) -> str:
    """The scarcest thing at the best count: cores, else what the law says, else nothing yet.

    ``best`` is one of the ``rungs``.
    """
    cpu_share = median(run.cpu_share for run in best.runs)
    if any(run.bound_by_cpus for run in best.runs) or cpu_share >= CORES_USED:
        cores = count(best.runs[-1].usable_cores)
        return (
            f"the CPUs: its processes have {percent(cpu_share)} of the {cores} usable cores' time"
        )
    if median(run.taken_share for run in best.runs) >= STARVED:
        return "other programs, which had the cores that it queued for"
    fit = usl or amdahl
    if fit is None:
        return "something that one number of workers cannot tell"
    if _are_alike(rungs):
        return "what these numbers of workers cannot tell: no rate differs from the others by more than repeated runs do"
    if best is rungs[0] and len(rungs) > 1:
        return "each worker's own speed: with more of them the rate only falls"
    if fit.law.sps(2 * best.workers) >= STILL_GROWS * best.sps.median:
        return "nothing that shows: the rate still grows with every worker, so try more"
    return _shared(usl, best, rungs[-1])


def _shared(usl: Fit | None, best: Rung, last: Rung) -> str:
    """Return which of the two costs of working together is the larger, where the ladder can tell.

    The law alone cannot: one shared thing that is suddenly full bends the rate as sharply as
    coherency does. Only coherency makes it fall again.
    """
    if usl is not None:
        workers, law = best.workers, usl.law
        others, pairs = workers - 1, workers * (workers - 1)
        falls = last.sps.median < best.sps.median and differ(last.sps, best.sps)
        if falls and usl.coherency.low * pairs > usl.contention.high * others:
            return (
                f"coherency: {percent(law.coherency_cost(workers) / law.cost(workers))} of a "
                "worker's time goes into keeping in step with each other one (shared data, "
                "messages among workers)"
            )
        if usl.contention.low * others > usl.coherency.high * pairs:
            return (
                f"contention: {percent(law.contention)} of the work is done in one place, one "
                "worker at a time (the learner, a lock, a pipe)"
            )
    return "what the workers share (a learner, a lock, pipes, memory): the ladder cannot tell which"


def named_peak(peak: float, most: int) -> str:
    """Return where a law expects the highest rate, if at most ``most`` workers were run; empty where that is too far out to say."""
    if peak > FURTHEST_PEAK * most:
        return ""
    beyond = ", more than were run" if round(peak) > most else ""
    workers = "1 worker" if round(peak) == 1 else f"about {round(peak)} workers"
    return f"The most is expected with {workers}{beyond}."


# --- what to know about it ------------------------------------------------------------------


def _notes(
    runs: Sequence[LadderRun], rungs: Sequence[Rung], fit: Fit | None, *, interrupted: bool
) -> Iterator[Note]:
    if interrupted:
        yield Note(
            "warning",
            "ladder-interrupted",
            "The ladder was ended early: this is what had been measured by then.",
        )
    yield from _failures(runs[:-1] if interrupted else runs)
    yield from _without_rates(runs)
    yield from _crowded(rungs)
    yield from _spread(runs, rungs)
    yield from _process_counts(rungs)
    if fit is None:
        yield Note(
            "info",
            "no-fit",
            f"A law needs rates at two numbers of workers at least; there are {len(rungs)}.",
        )
    elif fit.error > POOR_FIT:
        yield Note(
            "warning",
            "poor-fit",
            f"The fitted curve is off by {percent(fit.error)} on average: trust the measured rates, "
            "not the law.",
        )


def _workers(run: LadderRun) -> str:
    return counted(run.workers, "worker", "workers")


def _failures(runs: Sequence[LadderRun]) -> Iterator[Note]:
    for run in runs:
        if run.failed:
            yield Note(
                "error",
                "run-failed",
                f"With {_workers(run)} the training ended with exit code {run.exit_code} "
                f"(round {run.round}); that run is left out. Its recording is {run.run_file}.",
            )


def _without_rates(runs: Sequence[LadderRun]) -> Iterator[Note]:
    for run in runs:
        if run.sps is None and not run.failed:
            yield Note(
                "warning",
                "run-without-rate",
                f"With {_workers(run)} there is no rate (round {run.round}): "
                f"{run.why_no_sps}. That run is left out.",
            )


def _crowded(rungs: Sequence[Rung]) -> Iterator[Note]:
    """One when other programs kept the cores busy: many workers then look worse than they are."""
    runs = [run for rung in rungs for run in rung.runs]
    crowded = [run for run in runs if run.taken_share >= CROWDED]
    if crowded:
        most = max(run.taken_share for run in crowded)
        yield Note(
            "warning",
            "machine-busy",
            f"In {len(crowded)} of {len(runs)} runs the training queued for cores that other "
            f"programs had, up to {percent(most)} of them. The rates say as much of those as of "
            "it: measure again on an idle machine.",
        )


def _spread(runs: Sequence[LadderRun], rungs: Sequence[Rung]) -> Iterator[Note]:
    """One when no count differs from the best by more than chance."""
    if _are_alike(rungs):
        rounds = max(run.round for run in runs)
        yield Note(
            "warning",
            "counts-alike",
            "The worker counts differ by no more than repeated runs do: none is shown to be "
            f"better. Train for longer, or repeat more often (--repeat {max(5, 2 * rounds)}).",
        )


def _are_alike(rungs: Sequence[Rung]) -> bool:
    """Tell whether several counts are there, and none differs from the best by more than chance."""
    best = max(rungs, key=lambda rung: rung.sps.median, default=None)
    return len(rungs) > 1 and best is not None and not any(differ(r.sps, best.sps) for r in rungs)


def _process_counts(rungs: Sequence[Rung]) -> Iterator[Note]:
    """One when no run had more processes than another: perhaps the count did not arrive."""
    seen = {run.processes for rung in rungs for run in rung.runs}
    if len(rungs) > 1 and len(seen) == 1:
        yield Note(
            "info",
            "same-processes",
            f"Every run had {count(seen.pop())} Python processes, whatever the number of workers: "
            "either the workers are threads or environments inside of one, or the argument does "
            "not set them.",
        )
