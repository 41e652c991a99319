"""Threads that poll awake, and so take the interpreter lock from the main thread of their process."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from rlprof.model.activity import Activity, WaitKind
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.profile import Profile

MIN_SHARE: Final = 0.05
"""Part of the steady phase that a thread polls for, has a core, and keeps the main thread waiting for."""

WITHOUT_HAND_OVER: Final = calibrated(
    0.7,
    unit="part of what it takes now",
    source="two threads of a Blackjack program on two cores, as processes: 0.38 to 0.63 saved, "
    "where the cores alone would save a half",
    date="2026-11-21",
)
"""Time that the work itself then takes at least: handing the lock over costs both sides."""

_SURELY_GOES: Final = calibrated(
    0.85,
    unit="part of the main thread's waits for the lock",
    source="quantile Q-learning beside a thread that asks an empty queue: asleep for 0.86, 0.89 to 0.92 saved without it",
    date="2026-11-30",
)
"""Part that goes once the thread waits where it polled."""


_OF_THE_LOCK: Final = (WaitKind.UNKNOWN, WaitKind.GIL)
"""Waits of a thread for the lock: it sleeps on lines that wait for nothing."""


@dataclass(frozen=True, slots=True)
class LockTaken:
    """Time that the main thread of a process waits for the lock, which a thread that polls has."""

    share: float
    """Of the steady phase, asleep where nothing waits."""
    nodes: frozenset[int]
    """Of the main thread's waits."""
    left: Range
    """Part of the steady phase that the same steps take without the polling."""


def lock_taken(profile: Profile) -> LockTaken | None:
    """Return it for the first critical main thread that is kept waiting, if any."""
    for main in profile.activities:
        if not (main.is_main and main.is_critical and profile.steady_us):
            continue
        pollers = [
            each
            for each in profile.activities
            if each.process == main.process and each is not main and polls_awake(each, profile)
        ]
        most_us = sum(poller.on_cpu_us for poller in pollers)
        surely = _waited_us(main, profile, _OF_THE_LOCK, most_us)
        if surely < MIN_SHARE * profile.steady_us:
            continue
        # A queue has a lock of its own, which the thread that asks it takes as well; or it waits for an answer.
        kinds = (*_OF_THE_LOCK, WaitKind.QUEUE, WaitKind.LOCK)
        at_most = _waited_us(main, profile, kinds, most_us) / profile.steady_us
        share = surely / profile.steady_us
        return LockTaken(
            share,
            frozenset(
                node
                for wait in profile.waits
                if wait.thread == main.thread and wait.kind in _OF_THE_LOCK
                for node in wait.nodes
            ),
            Range(
                max(0.0, 1 - at_most) * WITHOUT_HAND_OVER,
                max(0.0, 1 - _SURELY_GOES * share),
            ),
        )
    return None


def polls_awake(activity: Activity, profile: Profile) -> bool:
    """Tell whether a thread asks again and again, and has a core for it."""
    polling = sum(
        cost.wall_us
        for node, cost in activity.tree.self_costs()
        if profile.wait_kinds.get(node) is WaitKind.POLL
    )
    return min(polling, activity.on_cpu_us) >= MIN_SHARE * max(1, profile.steady_us)


def _waited_us(main: Activity, profile: Profile, kinds: Collection[WaitKind], most_us: int) -> int:
    waited = sum(
        wait.wall_us for wait in profile.waits if wait.thread == main.thread and wait.kind in kinds
    )
    return min(waited, most_us)
