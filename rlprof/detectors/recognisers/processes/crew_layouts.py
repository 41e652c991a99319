"""Other layouts of a crew of workers, and the time that its steps would take then: in one process, or in fewer workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from rlprof.detectors.recognisers.processes.crews import Crew, Split
from rlprof.detectors.recognisers.processes.transport import counted_messages
from rlprof.model.activity import HostLoad
from rlprof.model.calibration import calibrated
from rlprof.model.counters import IPC_MESSAGES
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.profile.workload import at_a_time

WAKE_UP_US: Final = calibrated(
    Range(2.0, 36.0),
    unit="µs per message",
    source="eight workers on two cores, over the same work in one process: 2 for each message to "
    "and from a grid world, 11 for CartPole in AsyncVectorEnv, 16 where a policy of torch acts in it, 36 in PPO of Stable-Baselines3 over a "
    "SubprocVecEnv of small job shops",
    date="2026-11-30",
)
"""Cost of a message to its receiver's own work: who wakes up finds cold caches, and pays for the wake-up."""

LEAST_OF_OWN: Final = calibrated(
    0.3,
    unit="part of the own work",
    source="eight workers on two cores: 0.31 for a grid world, 0.43 for CartPole in AsyncVectorEnv",
    date="2026-11-21",
)
"""Part that stays at least."""

IN_PROCESS_US: Final = calibrated(
    Range(0.3, 3.0),
    unit="µs per environment step",
    source="0.3 for a list comprehension with zip, 2 to 4 for SyncVectorEnv and DummyVecEnv with "
    "small spaces",
    date="2026-11-21",
)
"""Cost of the vector environment itself in one process; of the measured ones the middle is taken."""

LEAST_LEFT: Final = calibrated(
    0.8,
    unit="part of the least work that is predicted to be left in one process",
    source="docs/accuracy.md: of five programs by strangers (CartPoles in 2 to 8 processes, five recordings) 0.81 to 0.95 of it was left",
    date="2026-11-26",
)
"""Model error of what is left in one process: caches stay warm there by more than the cost of messages tells."""

MOST_LEFT: Final = calibrated(
    0.65,
    unit="part of the way from the least to the most work that the parts may come to",
    source="docs/accuracy.md: in 19 programs, 12 of them by strangers, -0.63 to 0.59 of it, in the median 0.14",
    date="2026-11-27",
)
"""Most that is left in one process: the errors of the parts, all on one side, were never met."""

FEWER_MESSAGES: Final = Range(0.8, 1.4)
"""Model error of what is left with several environments per worker: the messages get longer, and
the workers no longer wait so evenly."""


@dataclass(frozen=True, slots=True)
class CrewWork:
    """CPU time of one crew in the steady phase, summed."""

    crew: Crew
    master: Split
    servants: Split
    paused_us: int
    """Asleep in the servants' own work, for a reason that is not known, summed."""

    @property
    def transport_us(self) -> int:
        return self.master.transport_cpu_us + self.servants.transport_cpu_us


@dataclass(frozen=True, slots=True)
class OtherLayout:
    """Change that could be made instead, and the time that the same steps would take then (µs)."""

    left_us: Range
    workers: int
    """0: all in one process."""

    @property
    def middle_us(self) -> float:
        return (self.left_us.low + self.left_us.high) / 2


def best_change(crews: Sequence[CrewWork], steps: float, profile: Profile) -> OtherLayout:
    """One process, or as many workers as cores with several environments each."""
    changes = [_in_one_process(crews, steps, profile)]
    workers = int(profile.load.cores)
    if workers > 1 and all(workers < _at_a_time(parts, profile) for parts in crews):
        changes.append(_in_fewer_workers(crews, profile, workers))
    return min(changes, key=lambda change: (change.middle_us, change.workers))


def _in_one_process(crews: Sequence[CrewWork], steps: float, profile: Profile) -> OtherLayout:
    """The master's own work and all environments', one after the other; sleeps add up too.

    What is not known of the parts is not known independently: their errors add in quadrature.
    """
    crowd = crowding(profile.load, profile.steady_us)
    slept_us = 0.0
    parts = [IN_PROCESS_US.scaled(steps)]
    for crew in crews:
        messages = counted_messages(crew.crew.processes, profile)[IPC_MESSAGES] or 2 * steps
        own = [_own_us(crew.master, factor) + crew.servants.own_cpu_us * factor for factor in crowd]
        least, most = (
            us - messages * wake_up for us, wake_up in zip(own, reversed(WAKE_UP_US), strict=True)
        )
        parts.append(Range(max(least, LEAST_OF_OWN * own[0]), max(most, LEAST_OF_OWN * own[1])))
        unlocated = crew.master.unlocated_cpu_us + crew.servants.unlocated_cpu_us
        parts.append(Range(0.0, unlocated * crowd.high))
        stays = crew.master.slept_us + crew.servants.slept_us
        parts.append(Range(stays, stays + crew.paused_us))
        slept_us += stays
    seen = _summed(parts)
    left = Range(
        min(seen.low, slept_us + LEAST_LEFT * max(0.0, seen.low - slept_us)),
        seen.low + MOST_LEFT * (seen.high - seen.low),
    )
    side_by_side = min(len(crews), profile.load.cores)
    return _bounded(Range(left.low / side_by_side, left.high / side_by_side), 0, crews, profile)


def _summed(parts: Sequence[Range]) -> Range:
    """The sum of quantities whose errors have nothing to do with each other."""
    middle = sum(part.low + part.high for part in parts) / 2
    error = sqrt(sum(((part.high - part.low) / 2) ** 2 for part in parts))
    return Range(middle - error, middle + error)


def _in_fewer_workers(crews: Sequence[CrewWork], profile: Profile, workers: int) -> OtherLayout:
    """A worker for each core: its own work is shared out, messages fall with their number."""
    crowd = crowding(profile.load, profile.steady_us)
    low = high = 0.0
    for parts in crews:
        fewer = workers / _at_a_time(parts, profile)
        shared = parts.master.transport_cpu_us * fewer
        shared += (parts.servants.own_cpu_us + parts.servants.transport_cpu_us * fewer) / workers
        # Environments that sleep side by side now do so one after the other in each worker.
        slept = (parts.servants.slept_us + parts.paused_us) / workers
        stays = parts.master.slept_us + slept
        low += _own_us(parts.master, crowd.low) + shared * crowd.low + stays
        high += _own_us(parts.master, crowd.high) + shared * crowd.high + stays
    left = Range(low * FEWER_MESSAGES.low, high * FEWER_MESSAGES.high)
    return _bounded(left, workers, crews, profile)


def _at_a_time(parts: CrewWork, profile: Profile) -> int:
    """Return how many workers there are, of which some may have been replaced."""
    return at_a_time([servant.process for servant in parts.crew.servants], profile)


def _own_us(master: Split, crowd: float) -> float:
    """The master's own work is done where it is now: it waits for a CPU as long as now, at most."""
    return min(master.own_busy_us, master.own_cpu_us * crowd)


def _bounded(left: Range, workers: int, crews: Sequence[CrewWork], profile: Profile) -> OtherLayout:
    """Not faster than the busiest process outside of the crews. On full cores threads that run no Python may go on as they do, for nobody sees
    whether they work, or spin between the calls that they wait for: what finds no room on the cores beside the masters is added.
    """
    inside = {process for parts in crews for process in parts.crew.processes}
    others = max(
        (activity.on_cpu_us for activity in profile.activities if activity.process not in inside),
        default=0,
    )
    load = profile.load
    room_us = max(0.0, load.cores - len(crews)) * left.high
    native = max(0.0, load.native_us - room_us) / load.cores if load.saturated else 0.0
    return OtherLayout(Range(max(left.low, others), max(left.high + native, others)), workers)


def crowding(load: HostLoad, length_us: int) -> Range:
    """Return how many times longer one thread takes because of others than the run on the same host.

    Fair shares: *k* threads that want a core among *f* foreign ones get ``cores * k / (k + f)``.
    Never more than what the run itself queued for: cores may also have been free. The low is half of
    it, since the run's own threads queue for each other too.
    """
    got, wanted = load.got_us / length_us, (load.got_us + load.queued_us) / length_us
    if not got:
        return Range(1.0, 1.0)
    foreign = max(0.0, load.cores * wanted / got - wanted)
    most = max(1.0, min(wanted / got, (foreign + 1) / load.cores))
    return Range(max(1.0, most / 2), most)
