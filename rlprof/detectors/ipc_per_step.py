"""Messages between processes for every environment step that cost more than the step itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.crews import (
    Crew,
    Split,
    find_crews,
    paused_us,
    split_work,
)
from rlprof.detectors.recognisers.streams import find_stream
from rlprof.detectors.recognisers.transport import LARGE_BYTES, find_transport, most_transport_us
from rlprof.libraries.base import Transport
from rlprof.libraries.known import LIBRARIES
from rlprof.model.activity import FOR_OTHERS, Activity, HostLoad
from rlprof.model.calibration import calibrated
from rlprof.model.counters import IPC_BYTES, IPC_MESSAGES
from rlprof.model.finding import Confidence, Finding, Location, Range, Remainder, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.units import count, duration, of_each_step, percent, size

OUTWEIGHS: Final = calibrated(
    0.5,
    unit="times the workers' own work",
    source="eight workers: 14 for an environment of 6 µs, 5 for gymnasium's CartPole, 0.15 for one "
    "of 1 ms",
    date="2026-11-21",
)
"""CPU time of the messages over that of the workers' own work, from which on they are looked at. What is
then worth a change is decided by the price."""

MIN_MESSAGES: Final = 0.25
"""Messages per environment step, where they are counted: two for each step are the rule, one for
eight environments at once is what the fix leads to."""

MIN_SAVED: Final = 0.03
"""Least part of the steady time that the change has to save, by the middle of its range; at the
upper end of what is left it has to save something too."""

WAKE_UP_US: Final = calibrated(
    Range(2.0, 16.0),
    unit="µs per message",
    source="eight workers on two cores, over the same work in one process: 2 for each message to "
    "and from a grid world, 11 for CartPole in AsyncVectorEnv, 16 where a policy of torch acts in it",
    date="2026-11-23",
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

MIN_STREAM: Final = 0.05
"""Least part of the critical time in messages that are sent one by one."""

LEAST_LEFT: Final = calibrated(
    0.8,
    unit="part of the least work that is predicted to be left in one process",
    source="docs/accuracy.md: of five programs by strangers (CartPoles in 2 to 8 processes, five recordings) 0.81 to 0.95 of it was left",
    date="2026-11-26",
)
"""Model error of what is left in one process: caches stay warm there by more than the cost of messages tells."""

FEWER_MESSAGES: Final = Range(0.8, 1.4)
"""Model error of what is left with several environments per worker: the messages get longer, and
the workers no longer wait so evenly."""


@dataclass(frozen=True, slots=True)
class _Parts:
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
class _OtherLayout:
    """Change that could be made instead, and the time that the same steps would take then (µs)."""

    left_us: Range
    workers: int
    """0: all in one process."""

    @property
    def middle_us(self) -> float:
        return (self.left_us.low + self.left_us.high) / 2


def detect(profile: Profile) -> Iterable[Finding]:
    if not profile.steady_us:
        return
    transport = find_transport(profile.steady.nodes)
    crews = [
        parts
        for parts in (_parts(crew, transport, profile) for crew in find_crews(profile))
        if parts.transport_us >= OUTWEIGHS * max(1, parts.servants.own_cpu_us)
    ]
    sent = _sent(crews, profile)
    # Where nothing counts steps, each message and its answer stand for one.
    steps = profile.steady_steps or sent / 2
    if not crews:
        yield from _of_a_stream(profile)
    if not crews or not steps or 0 < sent / steps < MIN_MESSAGES:
        return
    if _mean_bytes(crews, profile) >= LARGE_BYTES:
        return  # It is what is in them that takes the time: pickle-heavy.
    change = _best_change(crews, steps, profile)
    left = Range(*(us / profile.steady_us for us in change.left_us))
    if left.high >= 1 or 1 - (left.low + left.high) / 2 < MIN_SAVED:
        return
    nodes = _transport_nodes(crews, transport)
    yield Finding(
        title=_title(crews),
        savings=(),
        locations=_locations(nodes, profile),
        evidence=tuple(_evidence(crews, change, sent, steps, profile)),
        fix=_fix(change),
        confidence=Confidence.MEASURED if sent else Confidence.BOUNDED,
        remainder=Remainder(nodes, left),
    )


def _of_a_stream(profile: Profile) -> Iterable[Finding]:
    """Steps that are sent one by one to somebody who does not answer."""
    stream, steps, whole = find_stream(profile), profile.steady_steps, profile.critical.wall_us
    if stream is None or not steps or stream.messages < MIN_MESSAGES * steps:
        return
    us = stream.working_us
    if us < MIN_STREAM * whole:
        return
    locations = _locations(stream.nodes, profile)
    place = (
        f" ({short_place(Line(locations[0].file, locations[0].line, locations[0].function))})"
        if locations
        else ""
    )
    yield Finding(
        title=f"each step is sent by itself{place}",
        savings=(Saving(stream.nodes, stream.removable),),
        locations=locations,
        evidence=(
            f"{percent(us / whole)} of the time is spent on messages to another process{of_each_step(us, steps)}",
            f"{count(round(stream.messages))} messages of {size(stream.bytes_each)} in the steady phase, "
            f"{count(float(f'{stream.messages / steps:.2g}'))} per environment step, and no answers",
        ),
        fix="Collect some dozens of steps in a list, send it as one message, and take it apart where it is received: a message costs a wake-up, a lock and "
        "a system call at each end, whatever is in it. Arrays in shared memory need no message at all.",
        confidence=Confidence.MEASURED,
    )


def _parts(crew: Crew, transport: Mapping[int, Transport], profile: Profile) -> _Parts:
    servants = Split()
    for servant in crew.servants:
        servants = servants.plus(split_work(servant, transport, profile.wait_kinds))
    master = split_work(crew.master, transport, profile.wait_kinds)
    most = most_transport_us(_counted(crew.processes, profile))
    moved = master.transport_cpu_us + servants.transport_cpu_us
    if moved > most:
        master, servants = (_limited(split, most / moved) for split in (master, servants))
    paused = paused_us(crew.servants, transport, profile.wait_kinds)
    return _Parts(crew, master, servants, paused)


def _counted(processes: Iterable[int], profile: Profile) -> dict[str, float]:
    """Messages and bytes that ``processes`` sent."""
    return {
        name: sum(profile.process_counts.get(it, {}).get(name, 0.0) for it in processes)
        for name in (IPC_MESSAGES, IPC_BYTES)
    }


def _limited(split: Split, part: float) -> Split:
    """``split`` with only ``part`` of its transport: the rest is its own work."""
    excess = round(split.transport_cpu_us * (1 - part))
    return replace(
        split,
        own_cpu_us=split.own_cpu_us + excess,
        own_busy_us=split.own_busy_us + excess,
        transport_cpu_us=split.transport_cpu_us - excess,
    )


def _sent(crews: Sequence[_Parts], profile: Profile) -> float:
    """Messages of the crews; 0 where they were not counted."""
    processes = [process for parts in crews for process in parts.crew.processes]
    return _counted(processes, profile)[IPC_MESSAGES]


def _mean_bytes(crews: Sequence[_Parts], profile: Profile) -> float:
    """Of the messages that workers send; 0 where they were not counted."""
    servants = [it.process for parts in crews for it in parts.crew.servants]
    counted = _counted(servants, profile)
    return counted[IPC_BYTES] / counted[IPC_MESSAGES] if counted[IPC_MESSAGES] else 0.0


def _best_change(crews: Sequence[_Parts], steps: float, profile: Profile) -> _OtherLayout:
    """One process, or as many workers as cores with several environments each."""
    changes = [_in_one_process(crews, steps, profile)]
    workers = int(profile.load.cores)
    if workers > 1 and all(workers < len(parts.crew.servants) for parts in crews):
        changes.append(_in_fewer_workers(crews, profile, workers))
    return min(changes, key=lambda change: (change.middle_us, change.workers))


def _in_one_process(crews: Sequence[_Parts], steps: float, profile: Profile) -> _OtherLayout:
    """The master's own work and all environments', one after the other; sleeps add up too.

    What is not known of the parts is not known independently: their errors add in quadrature.
    """
    crowd = crowding(profile.load, profile.steady_us)
    slept_us = 0.0
    parts = [Range(IN_PROCESS_US.low * steps, IN_PROCESS_US.high * steps)]
    for crew in crews:
        messages = _counted(crew.crew.processes, profile)[IPC_MESSAGES] or 2 * steps
        own = [_own_us(crew.master, it) + crew.servants.own_cpu_us * it for it in crowd]
        least, most = (us - messages * it for us, it in zip(own, reversed(WAKE_UP_US), strict=True))
        parts.append(Range(max(least, LEAST_OF_OWN * own[0]), max(most, LEAST_OF_OWN * own[1])))
        unlocated = crew.master.unlocated_cpu_us + crew.servants.unlocated_cpu_us
        parts.append(Range(0.0, unlocated * crowd.high))
        stays = crew.master.slept_us + crew.servants.slept_us
        parts.append(Range(stays, stays + crew.paused_us))
        slept_us += stays
    left = _summed(parts)
    left = Range(min(left.low, slept_us + LEAST_LEFT * max(0.0, left.low - slept_us)), left.high)
    side_by_side = min(len(crews), profile.load.cores)
    return _bounded(Range(left.low / side_by_side, left.high / side_by_side), 0, crews, profile)


def _summed(parts: Sequence[Range]) -> Range:
    """The sum of quantities whose errors have nothing to do with each other."""
    middle = sum(part.low + part.high for part in parts) / 2
    error = sqrt(sum(((part.high - part.low) / 2) ** 2 for part in parts))
    return Range(middle - error, middle + error)


def _in_fewer_workers(crews: Sequence[_Parts], profile: Profile, workers: int) -> _OtherLayout:
    """A worker for each core: its own work is shared out, messages fall with their number."""
    crowd = crowding(profile.load, profile.steady_us)
    low = high = 0.0
    for parts in crews:
        fewer = workers / len(parts.crew.servants)
        shared = parts.master.transport_cpu_us * fewer
        shared += (parts.servants.own_cpu_us + parts.servants.transport_cpu_us * fewer) / workers
        # Environments that sleep side by side now do so one after the other in each worker.
        slept = (parts.servants.slept_us + parts.paused_us) / workers
        stays = parts.master.slept_us + slept
        low += _own_us(parts.master, crowd.low) + shared * crowd.low + stays
        high += _own_us(parts.master, crowd.high) + shared * crowd.high + stays
    left = Range(low * FEWER_MESSAGES.low, high * FEWER_MESSAGES.high)
    return _bounded(left, workers, crews, profile)


def _own_us(master: Split, crowd: float) -> float:
    """The master's own work is done where it is now: it waits for a CPU as long as now, at most."""
    return min(master.own_busy_us, master.own_cpu_us * crowd)


def _bounded(left: Range, workers: int, crews: Sequence[_Parts], profile: Profile) -> _OtherLayout:
    """Not faster than the busiest process outside of the crews."""
    inside = {process for parts in crews for process in parts.crew.processes}
    others = max((it.on_cpu_us for it in profile.activities if it.process not in inside), default=0)
    return _OtherLayout(Range(max(left.low, others), max(left.high, others)), workers)


def crowding(load: HostLoad, length_us: int) -> Range:
    """How many times longer one thread takes because of others than the run on the same host.

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


def _transport_nodes(crews: Sequence[_Parts], transport: Mapping[int, Transport]) -> frozenset[int]:
    return frozenset(
        node
        for parts in crews
        for activity in (parts.crew.master, *parts.crew.servants)
        for node, _ in activity.tree.self_costs()
        if node in transport
    )


def _locations(nodes: Iterable[int], profile: Profile) -> tuple[Location, ...]:
    tree = profile.steady
    lines = UserLines(tree, profile.sources, profile.started_package)
    weights = lines.times((node, tree.self_cost(node).wall_us) for node in nodes)
    return lines.shown_locations(weights, max(1, profile.critical.wall_us))


def _title(crews: Sequence[_Parts]) -> str:
    workers = sum(len(parts.crew.servants) for parts in crews)
    own = sum(parts.servants.own_cpu_us for parts in crews)
    moved = sum(parts.transport_us for parts in crews)
    times = f"{count(float(f'{moved / own:.2g}'))} times" if own else "far more than"
    return (
        f"messages of {workers} environment worker{'s' if workers > 1 else ''} cost "
        f"{times} their steps"
    )


def _evidence(
    crews: Sequence[_Parts], change: _OtherLayout, sent: float, steps: float, profile: Profile
) -> Iterable[str]:
    for parts in crews:
        own, moved = parts.servants.own_cpu_us, parts.servants.transport_cpu_us
        master = parts.master
        yield (
            f"{len(parts.crew.servants)} workers spend {percent(own / max(1, own + moved))} of "
            f"their CPU time in their own work, {percent(moved / max(1, own + moved))} on messages; "
            f"the process that drives them spends "
            f"{percent(master.transport_cpu_us / max(1, _located(master)))} of its on them"
        )
    low, high = (us / steps for us in change.left_us)
    what = "a step" if profile.steady_steps else "a message and its answer"
    yield (
        f"{what} takes {duration(profile.steady_us / steps)} now; {_where(change)} it would take "
        f"{duration(low)} to {duration(high)}"
    )
    if sent:
        each = f", {count(float(f'{sent / steps:.2g}'))} per environment step"
        yield (
            f"{count(round(sent))} messages in the steady phase"
            f"{each if profile.steady_steps else ''}"
        )
    servants = [servant for parts in crews for servant in parts.crew.servants]
    yield f"the workers sleep {percent(_asleep(servants, profile))} of the time"


def _located(split: Split) -> int:
    return split.own_cpu_us + split.transport_cpu_us


def _asleep(servants: Sequence[Activity], profile: Profile) -> float:
    """Part of the servants' time in which they wait for others."""
    waited = sum(
        cost.idle_us
        for servant in servants
        for node, cost in servant.tree.self_costs()
        if profile.wait_kinds.get(node) in FOR_OTHERS
    )
    return waited / max(1, sum(servant.wall_us for servant in servants))


def _where(change: _OtherLayout) -> str:
    return f"in {change.workers} workers" if change.workers else "in one process"


_IN_PROCESS: Final = ", ".join(
    f"{library.name}'s {library.in_process_envs}"
    for library in LIBRARIES
    if library.in_process_envs
)


def _fix(change: _OtherLayout) -> str:
    if change.workers:
        return (
            f"Let {change.workers} workers step several environments each, so that one message "
            "carries the actions of all of them."
        )
    return f"Step the environments in one process: {_IN_PROCESS}, or one environment written with arrays."


DETECTOR: Final = Detector(
    id="ipc-per-step",
    name="messages between processes that cost more than the environment steps",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES})),
)
