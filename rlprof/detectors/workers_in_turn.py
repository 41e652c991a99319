"""Workers that are asked one after the other, each only when the one before it has answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import time_by
from rlprof.detectors.recognisers.request_loops import RequestLoops
from rlprof.model.activity import FOR_OTHERS
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines
from rlprof.units import count

MIN_SHARE: Final = 0.05
"""Least share of the critical time, asleep until an answer comes."""

FEWEST, MOST = 2, 16
"""Workers where nobody has seen how many there are."""

LEAST_LEFT: Final = 0.3
"""Part of what is left by that reckoning that may be left: who is asked later also wakes up while others work. By reason."""
MOST_LEFT: Final = 1.3
"""The same at most: workers are not all equally slow, and the slowest is waited for."""


_ALL_WORKERS: Final = (
    "Ask all of them first, then take the answers in a second loop: they work side by side then."
)
_ALL_TASKS: Final = "Give it all tasks first, then take the results in a second loop: its workers work side by side then. pool.map does both."


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    loops = [loop for loop in RequestLoops(profile, lines).found() if loop.round.workers != 1]
    whole = profile.critical.wall_us
    time = time_by(lambda loop: loop.share * whole, profile, lines, loops, MIN_SHARE)
    # Where no core is free, nobody could work meanwhile.
    if time is None or profile.load.saturated:
        return
    asked, is_beside = time.heaviest.round, time.heaviest.is_beside
    loops = [loop for loop in loops if loop.is_beside == is_beside]
    workers = min((loop.round.workers or 0 for loop in loops), default=0) or None
    waited_us = sum(loop.waited_us for loop in loops)
    removable = _removable(workers, waited_us, is_beside, profile)
    of_pool = asked.of_pool
    yield Finding(
        title=f"{'a pool is given one task' if of_pool else 'workers are asked one'} after the other ({time.place})",
        savings=tuple(_beside(time.total_us, removable, profile))
        if is_beside
        else (
            Saving(frozenset(node for loop in loops for node in loop.nodes), removable),
            *_of_work(waited_us, removable, profile),
        ),
        locations=time.locations,
        evidence=(
            time.share_spent("asleep until one has answered"),
            f"each turn of the loop gives {asked.of} one task, and waits for its end"
            if of_pool
            else f"each turn of the loop asks {asked.of}, and waits for its answer before the next is asked",
            *(
                [f"seen there: {count(asked.workers)} of them"]
                if asked.workers and not of_pool
                else []
            ),
        ),
        fix=_ALL_TASKS if of_pool else _ALL_WORKERS,
        confidence=Confidence.BOUNDED,
    )


def _of_work(waited_us: float, removable: Range, profile: Profile) -> Iterator[Saving]:
    """The work that fills these waits, which the workers do side by side then. They may work in other waits as well."""
    critical = {activity.thread for activity in profile.activities if activity.is_critical}
    all_waits_us = sum(
        wait.wall_us
        for wait in profile.waits
        if wait.thread in critical and wait.kind in FOR_OTHERS
    )
    part = min(1.0, waited_us / max(waited_us, all_waits_us))
    nodes = frozenset(
        node
        for activity in profile.activities
        if not activity.is_critical and activity.is_main
        for node, _ in activity.tree.self_costs()
    )
    if nodes:
        yield Saving(nodes, Range(part * removable.low, part * removable.high))


def _beside(share_us: float, removable: Range, profile: Profile) -> Iterator[Saving]:
    """Where the steps are made by those that are asked: their waits for work, while another one has it, are what goes."""
    nodes = frozenset(
        node
        for wait in profile.waits
        if wait.thread in profile.critical.threads and wait.kind in FOR_OTHERS
        for node in wait.nodes
    )
    waited_us = sum(profile.steady.self_cost(node).wall_us for node in nodes)
    if waited_us:
        part = share_us / waited_us
        yield Saving(nodes, Range(min(1.0, part * removable.low), min(1.0, part * removable.high)))


def _removable(workers: int | None, waited_us: float, is_beside: bool, profile: Profile) -> Range:
    """Return the part that goes: the wait for the slowest is left, and side by side the workers have no more than all cores."""
    others_us = sum(
        activity.on_cpu_us for activity in profile.activities if activity.is_critical is is_beside
    )
    on_all_cores = others_us / max(1.0, profile.load.cores) / max(1.0, waited_us)
    least, most = (
        min(1.0, max(1 / number, on_all_cores)) for number in (workers or MOST, workers or FEWEST)
    )
    return Range(1 - min(1.0, MOST_LEFT * most), 1 - LEAST_LEFT * least)


DETECTOR: Final = Detector(
    id="workers-in-turn",
    name="workers that are asked one after the other",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
