"""Two instruments, one truth: join the clock and the eye of one thread in one window.

The clock (austin) and the scheduler say how long the thread ran, waited for a CPU
and slept; the eye (the stack probe) says where it ran. Times are whole µs and every
total is kept to the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from rlprof.model.calibration import calibrated
from rlprof.model.calltree import Cost

TimeT = TypeVar("TimeT", int, float)


@dataclass
class ThreadWindow:
    """Record of one thread in one window. Times in µs, by node."""

    busy: dict[int, int] = field(default_factory=dict)
    """The clock's busy time of whole stacks."""
    idle: dict[int, int] = field(default_factory=dict)
    gc: dict[int, int] = field(default_factory=dict)
    """Busy time in the collector: its stacks stand still, so the clock's are right."""
    torn_us: int = 0
    """Busy time whose stack was torn."""
    eye: dict[int, float] = field(default_factory=dict)
    """CPU time by the stack probe."""
    on_cpu_us: int | None = None
    """By the scheduler; None where the kernel does not tell."""
    run_queue_us: int = 0
    sleeps: float = 1.0
    """Part of its turns on a CPU that it ended itself, to wait; the others the kernel ended, for another thread."""
    trust_clock: bool = False
    """True if the clock's stacks of this process are hardly ever torn."""
    memory: dict[int, tuple[int, int]] = field(default_factory=dict)
    """(bytes grown, bytes released) of the process's resident memory, by the node of the tick."""
    bare_wall_us: int = 0
    """Wall time of the thread when no clock was attached to it at all."""
    eye_before: Mapping[int, float] = field(default_factory=dict)
    """CPU time that the eye saw last, where it is not due yet: a thread that gets a tenth of a core is looked at
    less than once in a window."""

    @property
    def is_crowded(self) -> bool:
        """True if it waits for a CPU for long, and the eye says where it runs meanwhile."""
        looked = self.eye or self.eye_before
        most = QUEUED if self.trust_clock and self.busy else CROWDED
        return bool(looked and self.on_cpu_us and self.run_queue_us > most * self.on_cpu_us)

    @property
    def woken_queue_us(self) -> float:
        """Time it waited for a CPU where it had woken up, if a turn waits as long as any other."""
        return self.run_queue_us * self.sleeps

    @property
    def clock_busy_us(self) -> int:
        return sum(self.busy.values()) + sum(self.gc.values()) + self.torn_us

    @property
    def clock_wall_us(self) -> int:
        return self.clock_busy_us + sum(self.idle.values())


EYE_COVERS = 0.5
"""An eye that saw less than this part of the CPU time missed a long call that is still going on;
the clock's stacks, which stand still meanwhile, then explain the rest."""


CROWDED = calibrated(
    0.1,
    unit="times the time on a CPU",
    source="a learner that saves 1.1 MB at each update waits 0.35 of its CPU time, nearly all of it while the "
    "kernel writes the file: placed by the eye alone, 0.10 of its time was in saving, in truth 0.30",
    date="2026-11-23",
)
"""Time waiting for a CPU over time on one, from which on the two are placed apart: the eye sees none of it."""

QUEUED = calibrated(
    0.5,
    unit="times the time on a CPU",
    source="sixteen workers of 113 µs a step on two cores wait mostly where they wake up, in recv: "
    "placed by the clock alone, 0.71 of their CPU time was there, in truth 0.2",
    date="2026-11-21",
)
"""The same for a clock that is trusted, which places both."""


def combine(seen: ThreadWindow, *, torn_node: int, unseen_node: int) -> dict[int, Cost]:
    """Self time per node. ``torn_node`` takes torn stacks, ``unseen_node`` time without any."""
    wall = seen.clock_wall_us or seen.bare_wall_us
    busy = _busy_us(seen, wall)
    ran = _split(min(busy, sum(seen.gc.values())), seen.gc)
    rest = busy - sum(ran.values())
    places = dict(ran)
    if seen.is_crowded:
        on_cpu = min(rest, max(0, (seen.on_cpu_us or 0) - sum(ran.values())))
        eye = seen.eye or seen.eye_before
        looked = _split(on_cpu, eye)
        add(ran, looked)
        add(places, looked)
        add(places, _split(rest - on_cpu, _waits_for_cpu(seen, looked, rest) or eye))
    else:
        add(places, _split(rest, _busy_weights(seen, torn_node, unseen_node)))
        ran = places
    idle = _split(wall - busy, seen.idle or places or {unseen_node: 1})
    cpu_total = busy if seen.on_cpu_us is None else min(busy, seen.on_cpu_us)
    cpu = _split(cpu_total, ran or {unseen_node: 1})
    return {
        node: Cost(places.get(node, 0) + idle.get(node, 0), idle.get(node, 0), cpu.get(node, 0))
        for node in sorted({*places, *idle})
    }


def add(places: dict[int, TimeT], more: Mapping[int, TimeT]) -> None:
    """Book ``more`` time (µs), by node, on top of what is there."""
    for node, us in more.items():
        places[node] = places.get(node, 0) + us


def _busy_us(seen: ThreadWindow, wall: int) -> int:
    """On a CPU or waiting for one. The scheduler counts it exactly, the clock by its ticks."""
    if seen.on_cpu_us is None:
        return seen.clock_busy_us
    return min(wall, seen.on_cpu_us + seen.run_queue_us)


def _busy_weights(seen: ThreadWindow, torn_node: int, unseen_node: int) -> Mapping[int, float]:
    clock: dict[int, float] = {node: float(us) for node, us in seen.busy.items()}
    eye_us = sum(seen.eye.values())
    if not eye_us or (clock and seen.trust_clock):
        return _clock_weights(seen, torn_node) or seen.eye_before or {unseen_node: 1.0}
    on_cpu = seen.on_cpu_us if seen.on_cpu_us is not None else seen.clock_busy_us
    if eye_us >= EYE_COVERS * on_cpu or not clock:
        return seen.eye
    weights = dict(seen.eye)
    scale = (on_cpu - eye_us) / sum(clock.values())
    add(weights, {place: clock_us * scale for place, clock_us in clock.items()})
    return weights


def _waits_for_cpu(seen: ThreadWindow, ran: Mapping[int, int], busy_us: int) -> dict[int, float]:
    """Tell whether a thread waits for a CPU: the clock sees it busy for longer than it ran by the eye.

    Torn stacks are those of running code.
    """
    whole = seen.clock_busy_us - sum(seen.gc.values())
    valid = whole - seen.torn_us
    more = {
        node: (us * busy_us - ran.get(node, 0) * valid) / whole for node, us in seen.busy.items()
    }
    return {node: us for node, us in more.items() if us > 0}


def _clock_weights(seen: ThreadWindow, torn_node: int) -> dict[int, float]:
    weights = {node: float(us) for node, us in seen.busy.items()}
    if seen.torn_us:
        weights[torn_node] = weights.get(torn_node, 0.0) + seen.torn_us
    return weights


def _split(total: int, weights: Mapping[int, float]) -> dict[int, int]:
    """``total`` whole µs in proportion to ``weights``; rounding never loses or adds one."""
    whole = sum(weights.values())
    if total <= 0 or whole <= 0:
        return {}
    parts: dict[int, int] = {}
    gone = 0.0
    given = 0
    for node, weight in weights.items():
        gone += weight
        # Not round(), whose halves go to the even side: a part would exceed its due by one.
        upto = min(total, int(total * gone / whole + 0.5))
        parts[node] = upto - given
        given = upto
    parts[node] += total - given
    return {node: part for node, part in parts.items() if part}
