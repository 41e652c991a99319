"""More busy worker processes than cores: they take turns, and fewer would do the same with fewer messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import floor
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.line_time import working_time
from rlprof.detectors.recognisers.processes.transport import find_transport
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.profile.roles import LEARNER
from rlprof.profile.workload import (
    COLLECTORS,
    Workload,
    at_a_time,
    busiest_lines,
    group,
    mean,
    workloads,
)
from rlprof.units import count, percent

MIN_OVER: Final = calibrated(
    3.0,
    unit="busy workers over cores",
    source="four on two cores made 590 (407 to 691) steps a second, two with two environments each 495 (421 to 712); of sixteen 0.09 was saved",
    date="2026-11-28",
)
"""Busy workers over cores. Some more than cores fill the gaps while one of them waits."""

MIN_WORKING: Final = 0.3
"""Part of its time from which on a worker is busy: one that mostly waits needs no core."""

MIN_QUEUED: Final = 0.2
"""Part of their time that busy workers wait for a core. Half as many workers again as cores have to
wait for a third of it."""

FEWER_MESSAGES: Final = calibrated(
    Range(0.15, 0.6),
    unit="part of the time of the messages",
    source="sixteen workers on two cores spent 0.33 of the CPU time on messages, and two with "
    "eight environments each saved 0.09 (0.03 to 0.23)",
    date="2026-11-21",
)
"""Part of the time of the messages that go, which goes with them: what is left gets longer, and its senders
sleep deeper."""

MAX_NATIVE: Final = 0.2
"""Part of their CPU time in compute threads from which on those are what crowds the cores:
``thread-oversubscription`` tells of it."""


def detect(profile: Profile) -> Iterable[Finding]:
    workers = tuple(
        workload for workload in workloads(profile) if workload.role in COLLECTORS | {LEARNER}
    )
    busy = tuple(worker for worker in workers if worker.working >= MIN_WORKING)
    cores = profile.load.cores
    number = at_a_time([worker.process for worker in busy], profile)
    if number < MIN_OVER * cores or mean(worker.queued for worker in busy) < MIN_QUEUED:
        return
    python = sum(worker.python_us for worker in busy)
    native = sum(worker.native_us for worker in busy)
    if native > MAX_NATIVE * (python + native):
        return
    yield Finding(
        title=f"{group(busy[:number])} share {_cores(cores)}",
        savings=tuple(_savings(number, profile)),
        locations=busiest_lines(busy, profile),
        evidence=tuple(_evidence(busy, number, profile)),
        fix=f"Try {max(1, floor(cores))} workers, with the same number of environments between them: "
        "that spares messages, memory and start-up.",
        confidence=Confidence.BOUNDED,
    )


def _savings(number: int, profile: Profile) -> Iterator[Saving]:
    """Yield, of the time that messages take, what goes when as many workers as cores get them."""
    going = 1 - max(1, floor(profile.load.cores)) / number
    moved = find_transport(profile.steady.nodes).keys() & set(profile.steady.hot_nodes())
    yield from working_time(profile.steady, moved, profile.wait_kinds, FEWER_MESSAGES.scaled(going))


def _cores(cores: float) -> str:
    return f"{count(cores)} core{'s' if cores != 1 else ''}"


def _evidence(busy: Collection[Workload], number: int, profile: Profile) -> Iterator[str]:
    at_once = f", {number} at a time," if number < len(busy) else ""
    yield (
        f"{group(busy)}{at_once} are ready to run {percent(mean(worker.working for worker in busy))} of the time, and "
        f"wait {percent(mean(worker.queued for worker in busy))} of it for a core"
    )
    load = profile.load
    wanted = (load.got_us + load.queued_us) / max(1, profile.steady_us)
    yield f"the run wants {wanted:.1f} cores and has {count(load.cores)}"


DETECTOR: Final = Detector(
    id="too-many-workers",
    name="more busy workers than cores",
    in_samples=InSamples(detect),
)
