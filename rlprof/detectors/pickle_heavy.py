"""Large objects pickled and copied through pipes and queues, where shared memory would do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.line_time import (
    busy_us_anywhere,
    interpreter_lock_waits,
    working_time,
)
from rlprof.detectors.recognisers.processes.publishing import Publishing, find_publishing
from rlprof.detectors.recognisers.processes.transport import LARGE_BYTES, below, find_transport
from rlprof.libraries.base import Transport
from rlprof.model.activity import FOR_OTHERS, Activity
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.counters import IPC_BYTES, IPC_MESSAGES
from rlprof.model.finding import NOTHING, Confidence, Finding, Location, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, added_up, last_name
from rlprof.units import count, percent, size

MIN_SHARE: Final = 0.02
"""Least share of the busy time of all threads, spent on pickling and copying: twice what a report lists, since
only a part of it goes."""

MESSAGE_US: Final = calibrated(
    50.0,
    unit="µs",
    source="arrays of a few numbers through a pipe, both ends: 51",
    date="2026-11-21",
)
"""CPU time of a short message, which remains: somebody has to say that the data is there."""

BYTES_US: Final = calibrated(
    0.9 / 1024,
    unit="µs per byte",
    source="arrays through a pipe, both ends: 0.75 to 4 µs per KiB",
    date="2026-11-21",
)
"""CPU time for each byte of a large one, at least: the more the larger it is."""

SHARED_COPY: Final = calibrated(
    0.03,
    unit="part of the time",
    source="32 µs of 4 100 for 1 MiB, 2 of 98 for 64 KiB",
    date="2026-11-21",
)
"""Part of the time that writing the data into shared memory takes."""

PLUMBING: Final = Range(0.0, 0.9)
"""Part of the locks and wake-ups around large messages that goes: a pipe holds 64 KiB, so one of 1 MiB
wakes the other side sixteen times. Those of a short message stay."""

AROUND_TENSORS: Final = calibrated(
    Range(0.0, 0.95),
    unit="part of the time",
    source="benchmarks/programs/pairs/tensors_in_messages.py: of 1 050 µs for two small arrays and a tensor of one number 60 stay",
    date="2026-11-29",
)
"""Part of the rest of such a message's way that goes: its descriptor is asked for by a connection of its own, and its memory is made and let
go in C."""

TENSORS: Final = calibrated(
    Range(0.75, 0.99),
    unit="part of the pickling",
    source="opening, passing and mapping a descriptor costs 100 to 300 µs however small the tensor, and a number in a message 1",
    date="2026-11-29",
)
"""Removable where tensors go as file descriptors; an index into tensors that were shared once costs a short
message."""

TENSORS_SLOW_REST: Final = calibrated(
    Range(0.4, 1.2),
    unit="part of what is left, times the part that goes",
    source="docs/accuracy.md: two actors that send six small tensors for ten steps, 0.52 of the time; policy, learner and environments took 396 µs a step "
    "beside that and 147 without. The lower end by reason: a third of it",
    date="2026-11-30",
)
"""Part of what is left that goes as well: each tensor's memory is mapped and let go, which empties caches and the TLB."""

MIN_TENSOR_PART: Final = 0.3
"""Part of the pickling in torch's reductions from which on the finding is about tensors."""

_TENSOR_FILES: Final = (
    "torch/multiprocessing/reductions.py",
    "multiprocessing/resource_sharer.py",
    "torch/storage.py",
)

_GIVE_TASKS: Final = frozenset(
    {"apply", "apply_async", "imap", "imap_unordered", "map", "map_async", "starmap", "starmap_async"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Messages of the processes that send large ones, in the steady phase."""

    senders: frozenset[int]
    messages: float
    sent_bytes: float

    @property
    def mean_bytes(self) -> float:
        return self.sent_bytes / self.messages if self.messages else 0.0


def detect(profile: Profile) -> Iterable[Finding]:
    if not profile.critical.wall_us:
        return
    transport = find_transport(profile.steady.nodes)
    moved = frozenset(node for node, part in transport.items() if part is not Transport.PLUMBING)
    published = find_publishing(profile)
    tensors = _tensor_nodes(profile.steady) & moved
    traffic = _large_traffic(profile)
    weights = frozenset().union(*published.lines.values())
    nodes = (moved if traffic.senders else tensors) - weights
    busy = _busy_us(profile, nodes, published)
    working = sum(activity.wall_us - activity.idle_us for activity in profile.activities)
    about_tensors = _busy_us(profile, tensors - weights, published) >= MIN_TENSOR_PART * busy
    if not busy or busy < MIN_SHARE * working or not (traffic.senders or about_tensors):
        return
    removable, rest = TENSORS, AROUND_TENSORS
    if not about_tensors:
        removable, rest = _removable(traffic), PLUMBING
    around = frozenset(transport) - nodes - weights
    yield Finding(
        title=_title(traffic, about_tensors=about_tensors),
        savings=(
            *(_waits_for_storage(profile, tensors - weights) if about_tensors else ()),
            *_waits(profile, nodes | around, nodes, removable, rest.high),
            *_savings(profile, nodes, published, removable),
            *working_time(profile.steady, around, profile.wait_kinds, rest),
        ),
        locations=_locations(profile, nodes),
        evidence=tuple(_evidence(profile, traffic, busy / max(1, working), tensors - weights)),
        fix=_fix(about_tensors=about_tensors),
        confidence=Confidence.MEASURED,
        slows_rest=TENSORS_SLOW_REST if about_tensors else NOTHING,
    )


def _large_traffic(profile: Profile) -> _Traffic:
    senders, messages, sent = set(), 0.0, 0.0
    for process, counts in profile.process_counts.items():
        number = counts.get(IPC_MESSAGES, 0.0)
        if number and counts.get(IPC_BYTES, 0.0) >= LARGE_BYTES * number:
            senders.add(process)
            messages += number
            sent += counts[IPC_BYTES]
    return _Traffic(frozenset(senders), messages, sent)


def _tensor_nodes(tree: CallTree) -> frozenset[int]:
    """Nodes in and below the code that passes tensors on as file descriptors."""
    roots = [number for number, _, frame in tree.nodes if _passes_tensors(frame)]
    return frozenset(below(tree.nodes, roots)) if roots else frozenset()


def _passes_tensors(frame: Frame) -> bool:
    return frame.file.replace("\\", "/").endswith(_TENSOR_FILES)


def _busy_us(profile: Profile, nodes: frozenset[int], published: Publishing) -> float:
    """Busy time of ``nodes`` in all threads, that of threads that send weights left out."""
    total = 0
    for activity in profile.activities:
        feeds_weights = not activity.is_main and activity.process in published.senders
        for node, cost in activity.tree.self_costs():
            if node in nodes and not (feeds_weights and node in published.feeding):
                total += cost.busy_us
    return total


def _removable(traffic: _Traffic) -> Range:
    """The part that is for the bytes, by the mean message; see the constants."""
    short = MESSAGE_US / (MESSAGE_US + BYTES_US * traffic.mean_bytes)
    return Range(max(0.0, 1 - 1.2 * short - SHARED_COPY), 1 - 0.5 * short)


def _waits_for_storage(profile: Profile, tensors: frozenset[int]) -> Iterable[Saving]:
    """Return what the critical threads wait until a thread of the sender's has handed a descriptor over: without tensors nobody asks for one."""
    waiting = frozenset(node for node in tensors if profile.wait_kinds.get(node) in FOR_OTHERS)
    if waiting:
        yield Saving(waiting, TENSORS)


def _waits(
    profile: Profile,
    transport: frozenset[int],
    moved: frozenset[int],
    removable: Range,
    most: float,
) -> Iterable[Saving]:
    """Return what the critical threads wait for messages, while nobody works: each of them may wait for as long as one message is
    moved, by a thread that sends or by another that reads from the same queue, but no more than ``most`` of it goes.
    """
    tree, kinds = profile.steady, profile.wait_kinds
    waiting = frozenset(node for node in transport if kinds.get(node) in FOR_OTHERS)
    cost = tree.cost_of(waiting)
    wall, idle = cost.wall_us, cost.idle_us
    moving = len(profile.critical.threads) * busy_us_anywhere(profile, moved)
    if idle and moving:
        busy = (wall - idle) / wall
        goes = min(most, moving / idle) * idle / wall
        yield Saving(waiting, Range(removable.low * busy, removable.high * busy + goes))


def _savings(
    profile: Profile, nodes: frozenset[int], published: Publishing, removable: Range
) -> Iterable[Saving]:
    tree, kinds = profile.steady, profile.wait_kinds
    shared = nodes & published.feeding
    yield from working_time(tree, nodes - shared, kinds, removable)
    if shared:
        others = removable.scaled(1 - published.feeding_part)
        yield from working_time(tree, shared, kinds, others)
    pickled_beside = {
        activity.process: sum(
            cost.busy_us for node, cost in activity.tree.self_costs() if node in nodes
        )
        for activity in profile.activities
        if not activity.is_main and activity.process not in published.senders
    }
    for process, us in sorted(pickled_beside.items()):
        yield from interpreter_lock_waits(profile, {process}, us, removable)


def _locations(profile: Profile, nodes: frozenset[int]) -> tuple[Location, ...]:
    """The user's lines that send and take; what threads of queues and pools do, and workers of pools around their tasks, is for those that hand
    over.
    """
    weights: dict[Line, float] = defaultdict(float)
    beside: dict[int, float] = defaultdict(float)
    handed: dict[int, dict[Line, float]] = {}
    of_workers = 0.0
    for activity in profile.activities:
        lines = UserLines.of(profile, activity.tree)
        costs = [(node, cost.busy_us) for node, cost in activity.tree.self_costs() if node in nodes]
        around_tasks = _around_tasks(activity.tree, lines)
        own = lines.times((node, us) for node, us in costs if node not in around_tasks)
        for line, us in own.items():
            weights[line] += us
        of_workers += sum(us for node, us in costs if node in around_tasks)
        if activity.is_main:
            handed[activity.process] = _lines_that_hand_over(activity, profile)
        else:
            beside[activity.process] += sum(us for _, us in costs)
    for process, us in beside.items():
        _share_out(us, handed.get(process, {}), weights)
    _share_out(of_workers, added_up(handed.values()), weights)
    whole = max(
        profile.critical.wall_us,
        sum(main_activity.wall_us for main_activity in profile.activities if main_activity.is_main),
    )
    lines = UserLines.of(profile)
    return lines.shown_locations(weights, max(1, whole))


def _share_out(us: float, among: Mapping[Line, float], weights: dict[Line, float]) -> None:
    total = sum(among.values())
    for line, part in among.items():
        weights[line] += us * part / total


def _around_tasks(tree: CallTree, lines: UserLines) -> frozenset[int]:
    """Nodes of a pool's worker outside of the tasks: of a forked one, the stacks go on to the line that made the pool."""
    roots = [number for number, _, frame in tree.nodes if _is_of(frame, "pool.py", {"worker"})]
    inside = below(tree.nodes, roots) if roots else ()
    return frozenset(node for node in inside if lines.owner(node) not in inside)


def _lines_that_hand_over(activity: Activity, profile: Profile) -> dict[Line, float]:
    """Wall time of the lines that put into queues, or give a pool its tasks."""
    tree = activity.tree
    lines = UserLines.of(profile, tree)
    handing = [number for number, _, frame in tree.nodes if _hands_over(frame)]
    inside = below(tree.nodes, handing) if handing else ()
    return lines.times((node, cost.wall_us) for node, cost in tree.self_costs() if node in inside)


def _hands_over(frame: Frame) -> bool:
    return _is_of(frame, "queues.py", {"put"}) or _is_of(frame, "pool.py", _GIVE_TASKS)


def _is_of(frame: Frame, file: str, functions: Collection[str]) -> bool:
    is_file = frame.file.replace("\\", "/").endswith(f"multiprocessing/{file}")
    return is_file and last_name(frame.function) in functions


def _title(traffic: _Traffic, *, about_tensors: bool) -> str:
    if about_tensors:
        return "each tensor goes to other processes in memory of its own"
    return f"messages of {size(traffic.mean_bytes)} are pickled and copied between processes"


def _evidence(
    profile: Profile, traffic: _Traffic, share: float, tensors: frozenset[int]
) -> Iterable[str]:
    yield f"{percent(share)} of the busy time of all threads is pickling, unpickling and copying messages"
    if traffic.senders:
        per_step = (
            f", {size(traffic.sent_bytes / profile.steady_steps)} per step"
            if profile.steady_steps
            else ""
        )
        yield (
            f"{count(round(traffic.messages))} messages of {size(traffic.mean_bytes)} on average in the "
            f"steady phase, from {len(traffic.senders)} "
            f"process{'es' if len(traffic.senders) > 1 else ''}{per_step}"
        )
    if passed := busy_us_anywhere(profile, tensors):
        working = sum(activity.wall_us - activity.idle_us for activity in profile.activities)
        yield f"{percent(passed / max(1, working))} of the busy time opens, passes and maps tensors' storage"


def _fix(*, about_tensors: bool) -> str:
    if about_tensors:
        return (
            "Send numbers and numpy arrays (float(x), x.numpy()): a tensor of one number costs as much to send as a large one. Or share a few "
            "large tensors once, before the workers start (tensor.share_memory_()), write into them in place, and send only indices."
        )
    return (
        "Send only what is read at the other end: an info that nobody looks at is pickled, too. Hand over once what every task is sent alike, such as the object of a method that is the task (Pool(initializer=...)). "
        "Write what changes into arrays in shared memory (multiprocessing.RawArray or shared_memory with np.frombuffer), and send only the number of the slot."
    )


DETECTOR: Final = Detector(
    id="pickle-heavy",
    name="large objects pickled between processes",
    in_samples=InSamples(detect),
)
