"""Messages between processes for every environment step that cost more than the step itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.crew_layouts import CrewWork, OtherLayout, best_change
from rlprof.detectors.recognisers.processes.crews import (
    Crew,
    Split,
    find_crews,
    paused_us,
    split_work,
)
from rlprof.detectors.recognisers.processes.transport import (
    LARGE_BYTES,
    counted_messages,
    find_transport,
    most_transport_us,
)
from rlprof.libraries.base import Transport
from rlprof.libraries.known import LIBRARIES
from rlprof.model.activity import FOR_OTHERS, Activity
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import Cost, sum_costs
from rlprof.model.counters import IPC_BYTES, IPC_MESSAGES
from rlprof.model.finding import Confidence, Finding, Location, Range, Remainder, Saving
from rlprof.model.profile import Profile
from rlprof.source.lines import UserLines, short_place
from rlprof.units import count, duration, of_each_step, percent, rough_count, size

ONE_WAY: Final = 0.1
"""Most messages of those who make no steps, over those of who does: answers are as many as questions."""

SMALL_BYTES: Final = 8_192
"""Longest mean message: of a longer one the bytes are what takes the time."""

IN_BATCHES: Final = calibrated(
    Range(0.6, 0.95),
    unit="part of the messages' time",
    source="benchmarks/replacements.py: of 32 rows of 225 bytes 0.11 is left through a queue, 0.03 through a pipe, where they are one list; an "
    "actor-learner lost less to them",
    date="2026-11-24",
)
"""Part that goes where some dozens of steps are one message; pickling and unpickling them stays."""

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

MIN_STREAM: Final = 0.05
"""Least part of the critical time in messages that are sent one by one."""


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
    change = best_change(crews, steps, profile)
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
    if len(profile.processes) < 2:
        return  # A pool of threads tells itself by a pipe that a task is done.
    stream, steps, whole = find_stream(profile), profile.steady_steps, profile.critical.wall_us
    if stream is None or not steps or stream.messages < MIN_MESSAGES * steps:
        return
    us = stream.working_us
    if us < MIN_STREAM * whole:
        return
    locations = _locations(stream.nodes, profile)
    place = f" ({short_place(locations[0])})" if locations else ""
    yield Finding(
        title=f"each step is sent by itself{place}",
        savings=(Saving(stream.nodes, stream.removable),),
        locations=locations,
        evidence=(
            f"{percent(us / whole)} of the time is spent on messages to another process{of_each_step(us, steps)}",
            f"{count(round(stream.messages))} messages of {size(stream.bytes_each)} in the steady phase, "
            f"{rough_count(stream.messages / steps)} per environment step, and no answers",
        ),
        fix="Collect some dozens of steps in a list, send it as one message, and take it apart where it is received: a message costs a wake-up, a lock and "
        "a system call at each end, whatever is in it. Arrays in shared memory need no message at all.",
        confidence=Confidence.MEASURED,
    )


def _parts(crew: Crew, transport: Mapping[int, Transport], profile: Profile) -> CrewWork:
    servants = Split()
    for servant in crew.servants:
        servants = servants.plus(split_work(servant, transport, profile.wait_kinds))
    master = split_work(crew.master, transport, profile.wait_kinds)
    most = most_transport_us(counted_messages(crew.processes, profile))
    moved = master.transport_cpu_us + servants.transport_cpu_us
    if moved > most:
        master, servants = (_limited(split, most / moved) for split in (master, servants))
    paused = paused_us(crew.servants, transport, profile.wait_kinds)
    return CrewWork(crew, master, servants, paused)


def _limited(split: Split, part: float) -> Split:
    """``split`` with only ``part`` of its transport: the rest is its own work."""
    excess = round(split.transport_cpu_us * (1 - part))
    return replace(
        split,
        own_cpu_us=split.own_cpu_us + excess,
        own_busy_us=split.own_busy_us + excess,
        transport_cpu_us=split.transport_cpu_us - excess,
    )


def _sent(crews: Sequence[CrewWork], profile: Profile) -> float:
    """Messages of the crews; 0 where they were not counted."""
    processes = [process for parts in crews for process in parts.crew.processes]
    return counted_messages(processes, profile)[IPC_MESSAGES]


def _mean_bytes(crews: Sequence[CrewWork], profile: Profile) -> float:
    """Return the mean size of the messages that workers send; 0 where they were not counted."""
    servants = [servant.process for parts in crews for servant in parts.crew.servants]
    counted = counted_messages(servants, profile)
    return counted[IPC_BYTES] / counted[IPC_MESSAGES] if counted[IPC_MESSAGES] else 0.0


def _transport_nodes(
    crews: Sequence[CrewWork], transport: Mapping[int, Transport]
) -> frozenset[int]:
    return frozenset(
        node
        for parts in crews
        for activity in (parts.crew.master, *parts.crew.servants)
        for node, _ in activity.tree.self_costs()
        if node in transport
    )


def _locations(nodes: Iterable[int], profile: Profile) -> tuple[Location, ...]:
    tree = profile.steady
    lines = UserLines.of(profile)
    weights = lines.times((node, tree.self_cost(node).wall_us) for node in nodes)
    return lines.shown_locations(weights, max(1, profile.critical.wall_us))


def _title(crews: Sequence[CrewWork]) -> str:
    workers = sum(len(parts.crew.servants) for parts in crews)
    own = sum(parts.servants.own_cpu_us for parts in crews)
    moved = sum(parts.transport_us for parts in crews)
    times = f"{rough_count(moved / own)} times" if own else "far more than"
    return (
        f"messages of {workers} environment worker{'s' if workers > 1 else ''} cost "
        f"{times} their steps"
    )


def _evidence(
    crews: Sequence[CrewWork], change: OtherLayout, sent: float, steps: float, profile: Profile
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
        each = f", {rough_count(sent / steps)} per environment step"
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


def _where(change: OtherLayout) -> str:
    return f"in {change.workers} workers" if change.workers else "in one process"


_IN_PROCESS: Final = ", ".join(
    f"{library.name}'s {library.in_process_envs}"
    for library in LIBRARIES
    if library.in_process_envs
)


def _fix(change: OtherLayout) -> str:
    if change.workers:
        return (
            f"Let {change.workers} workers step several environments each, so that one message "
            "carries the actions of all of them."
        )
    return f"Step the environments in one process: {_IN_PROCESS}, or one environment written with arrays."


class OneWayStream(NamedTuple):
    """Steps that are sent to somebody who does not answer."""

    messages: float
    bytes: float
    nodes: frozenset[int]
    """Nodes of the messages' time, in all processes."""
    spent: Cost
    """The time of these nodes."""

    @property
    def _most_us(self) -> float:
        """Time that the messages can have taken: who waits for room in a queue, or for somebody's next message, waits for the other one's work."""
        return most_transport_us({IPC_MESSAGES: self.messages, IPC_BYTES: self.bytes})

    @property
    def working_us(self) -> float:
        """Time that was worked on the messages."""
        return min(self.spent.busy_us, self._most_us)

    @property
    def removable(self) -> Range:
        """Part of the nodes' time that goes where some dozens of steps are one message."""
        most_us = min(self.spent.wall_us, self._most_us)
        low_us, high_us = IN_BATCHES.low * self.working_us, IN_BATCHES.high * most_us
        return Range(low_us / self.spent.wall_us, high_us / self.spent.wall_us)

    @property
    def bytes_each(self) -> float:
        return self.bytes / self.messages


def find_stream(profile: Profile) -> OneWayStream | None:
    """The stream of a run; None where there is none, or where messages are answered, or long."""
    sent = bytes_ = answers = 0.0
    for counts in profile.process_counts.values():
        messages = counts.get(IPC_MESSAGES, 0.0)
        if _steps(counts):
            sent += messages
            bytes_ += counts.get(IPC_BYTES, 0.0)
        else:
            answers += messages
    if not sent or answers > ONE_WAY * sent or bytes_ > SMALL_BYTES * sent:
        return None
    nodes = frozenset(find_transport(profile.steady.nodes))
    return OneWayStream(sent, bytes_, nodes, sum_costs(map(profile.steady.self_cost, nodes)))


def _steps(counts: Mapping[str, float]) -> float:
    return sum(count for name, count in counts.items() if name.partition(":")[0] == "steps")


DETECTOR: Final = Detector(
    id="ipc-per-step",
    name="messages between processes that cost more than the environment steps",
    in_samples=InSamples(detect),
)
