"""Workers that wait for work, because the process that gives it to them is the bottleneck."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.model.activity import WORKED_MEANWHILE
from rlprof.model.finding import Confidence, Finding
from rlprof.model.profile import Profile
from rlprof.profile.workload import (
    Workload,
    busiest_lines,
    collectors,
    enough_of,
    group,
    mean,
    workloads,
)
from rlprof.units import percent

MIN_WAITING: Final = 0.5
"""Part of its time from which on a worker waits for work: it could do twice as much. In lock-step
with a learner that takes no longer than the environments, workers wait half of the time."""

MIN_WORKING: Final = 0.6
"""Part of its time from which on the process that gives out work is what holds them up. Workers that
wait for one that sleeps are fed slowly by design."""


def detect(profile: Profile) -> Iterable[Finding]:
    if profile.load.saturated:
        return
    loads = workloads(profile)
    collecting = collectors(loads)
    starved = tuple(collector for collector in collecting if collector.waiting >= MIN_WAITING)
    if not starved or 2 * len(starved) < len(collecting):
        return
    giver = _giver(starved, loads)
    if giver is None or giver.working < MIN_WORKING:
        return
    waiting = mean(worker.waiting for worker in starved)
    yield Finding(
        title=f"{group(starved)} wait{'s' if len(starved) == 1 else ''} {percent(waiting)} of the "
        f"time for {group([giver])}, which works meanwhile",
        savings=(),
        locations=busiest_lines([giver], profile),
        evidence=tuple(_evidence(starved, giver, waiting)),
        fix=_fix(starved, giver),
        confidence=Confidence.MEASURED,
    )


def _giver(starved: Collection[Workload], loads: Iterable[Workload]) -> Workload | None:
    """The process for which most of the waits are, none of those that wait."""
    waits: dict[int, float] = defaultdict(float)
    for worker in starved:
        for process, part in worker.awaited:
            waits[process] += part / len(starved)
    own = {load.process for load in starved}
    givers = [load for load in loads if load.process not in own]
    best = max(givers, key=lambda giver: (waits[giver.process], -giver.process), default=None)
    return best if best is not None and waits[best.process] >= WORKED_MEANWHILE else None


def _evidence(starved: Collection[Workload], giver: Workload, waiting: float) -> Iterator[str]:
    yield (
        f"{group(starved)} work{'s' if len(starved) == 1 else ''} "
        f"{percent(mean(worker.working for worker in starved))} of the time, and wait{'s' if len(starved) == 1 else ''} "
        f"{percent(waiting)}; {group([giver])} works {percent(giver.working)}"
    )
    if waiting < 1:
        yield (
            f"were {group([giver])} free, the workers could do up to {1 / (1 - waiting):.1f} times "
            "as much"
        )


def _fix(starved: Collection[Workload], giver: Workload) -> str:
    fix = f"Nothing in the workers: what {group([giver])} does is what counts, its lines are given here."
    enough = enough_of(starved)
    if enough < len(starved):
        fix += f" {enough} worker{'s' if enough > 1 else ''} would do in place of {len(starved)}."
    return fix


DETECTOR: Final = Detector(
    id="worker-starved",
    name="workers that wait for work",
    in_samples=InSamples(detect),
)
