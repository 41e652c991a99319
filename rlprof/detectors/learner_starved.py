"""A learner that waits for samples, because the workers that make them are the bottleneck."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import floor
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.model.activity import WORKED_MEANWHILE
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Remainder
from rlprof.model.profile import Profile
from rlprof.profile.workload import (
    Workload,
    busiest_lines,
    collectors,
    group,
    learners,
    mean,
    workloads,
)
from rlprof.units import count, percent

MIN_WAITING: Final = 0.3
"""Part of its time from which on a learner waits for samples. Less is the usual give and take of
collecting and learning in turns."""

MIN_WORKING: Final = 0.6
"""Part of their time that workers have to work: else they wait themselves, or are paced by a clock."""

MORE_WORKERS: Final = calibrated(
    Range(0.4, 1.0),
    unit="part of the ideal gain",
    source="a second worker on a free second core gave 0.38 (0.34 to 0.45) where 0.41 is ideal",
    date="2026-11-21",
)
"""Part of the ideal gain of more workers on free cores; the low end is for free cores that are threads of
busy ones, which nobody has tried."""

ROUNDING: Final = 0.15
"""A core that is used for less than this part is free: samplers and services run there."""


def detect(profile: Profile) -> Iterable[Finding]:
    loads = workloads(profile)
    collecting = collectors(loads)
    for learner in learners(loads, profile):
        makers = _makers(learner, collecting)
        if learner.waiting >= MIN_WAITING and makers:
            yield _finding(learner, makers, profile)


def _makers(learner: Workload, collecting: Collection[Workload]) -> tuple[Workload, ...]:
    """The workers that it waits for, where they work most of the time."""
    awaited = {process for process, part in learner.awaited if part >= WORKED_MEANWHILE}
    makers = tuple(workload for workload in collecting if workload.process in awaited)
    busy = mean(maker.working for maker in makers) >= MIN_WORKING
    return makers if busy else ()


def _finding(learner: Workload, makers: tuple[Workload, ...], profile: Profile) -> Finding:
    free = 0 if profile.load.saturated else _free_cores(profile)
    return Finding(
        title=f"{group([learner])} waits {percent(learner.waiting)} of the time for samples of "
        f"{group(makers)}",
        savings=(),
        locations=busiest_lines(makers, profile),
        evidence=tuple(_evidence(learner, makers, free, profile)),
        fix=_fix(makers, free),
        confidence=Confidence.BOUNDED,
        remainder=_remainder(learner, makers, free, profile),
    )


def _free_cores(profile: Profile) -> int:
    unused = profile.load.available_us - profile.load.got_us - profile.load.queued_us
    return max(0, floor(unused / max(1, profile.steady_us) + ROUNDING))


def _remainder(
    learner: Workload, makers: Collection[Workload], free: int, profile: Profile
) -> Remainder | None:
    """Return what more workers on the free cores would leave: of the learner's wait, or, where workers make
    the steps on their own, of all time; the learner's own work stays.
    """
    alone = any(maker.main.is_critical for maker in makers)
    if not free or not (alone or learner.main.is_critical):
        return None
    fewer = free / (len(makers) + free)
    gain = min(fewer, learner.waiting) if alone else learner.waiting * fewer
    replaced = {
        node
        for maker in makers
        for node, cost in maker.main.tree.self_costs()
        if cost.busy_us and profile.steady.self_cost(node).wall_us
    }
    replaced |= {
        node
        for wait in profile.waits
        if wait.thread == learner.main.thread
        for node in wait.nodes
        # What is left of them where others' work stands in for the wait is the learner's own.
        if 2 * profile.steady.self_cost(node).idle_us > profile.steady.self_cost(node).wall_us
    }
    return Remainder(
        frozenset(replaced), Range(1 - gain * MORE_WORKERS.high, 1 - gain * MORE_WORKERS.low)
    )


def _evidence(
    learner: Workload, makers: Collection[Workload], free: int, profile: Profile
) -> Iterator[str]:
    s = "s" if len(makers) == 1 else ""
    yield (
        f"{group([learner])} works {percent(learner.working)} of the time and waits "
        f"{percent(learner.waiting)}; {group(makers)} work{s} "
        f"{percent(mean(maker.working for maker in makers))}"
    )
    updates = profile.process_counts.get(learner.process, {}).get("updates", 0.0)
    if updates and profile.steady_steps:
        yield f"{count(profile.steady_steps / updates)} steps are collected for each update"
    cores = count(profile.load.cores)
    yield f"{count(free)} of {cores} cores {'is' if free == 1 else 'are'} free"


def _fix(makers: Collection[Workload], free: int) -> str:
    fix = "Make the workers' lines that are given here cheaper: the learner can take more."
    if free:
        more = len(makers) + free
        fix = (
            f"Collect with {more} workers instead of {len(makers)}: there are cores for them. "
            + fix
        )
    return fix


DETECTOR: Final = Detector(
    id="learner-starved",
    name="a learner that waits for samples",
    in_samples=InSamples(detect),
)
