"""Where a run hands a model's weights from one process to another, and what that takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.recognisers.transport import below, serves_queues
from rlprof.detectors.recognisers.weights import publishing_lines
from rlprof.model.activity import Activity
from rlprof.model.calltree import CallTree
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import last_name

MOSTLY: Final = 0.5
"""Part of a process's sends that has to be of weights for the threads that serve its queues to be
theirs: such threads know no line of the user's."""


@dataclass(frozen=True, slots=True)
class Publishing:
    """Nodes that copy, send, take and load weights, each with all that it calls."""

    lines: Mapping[str, frozenset[int]]
    """``copy``, ``send``, ``take`` and ``load`` of the user's lines."""
    feeding: frozenset[int] = frozenset()
    """Nodes of the threads that serve the queues of weights."""
    feeding_part: float = 0.0
    """Part of all time in those nodes that is of processes that send weights: others' threads run
    the same lines."""
    feeding_us: int = 0
    """Busy time of it."""
    senders: frozenset[int] = frozenset()
    """Processes that send weights by queues."""

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset().union(*self.lines.values(), self.feeding)


@dataclass(slots=True)
class _Feeders:
    nodes: set[int] = field(default_factory=set)
    own_us: int = 0
    all_us: int = 0


def find_publishing(profile: Profile) -> Publishing:
    """By the user's source: without it nothing tells weights from other messages."""
    known = {file: publishing_lines(text) for file, text in profile.sources.items()}
    known = {file: lines for file, lines in known.items() if lines}
    if not known:
        return Publishing({})
    tree = profile.steady
    roots: dict[str, list[int]] = defaultdict(list)
    for number, _, frame in tree.nodes:
        kind = known.get(frame.file, {}).get(frame.line)
        if kind is not None:
            roots[kind].append(number)
    lines: dict[str, frozenset[int]] = {}
    for kind, numbers in roots.items():
        lines[kind] = frozenset(below(tree.nodes, numbers))
    senders = {it.process for it in profile.activities if it.is_main and _sends_mostly(it, lines)}
    feeders = _feeders(profile.activities, senders)
    part = feeders.own_us / feeders.all_us if feeders.all_us else 0.0
    return Publishing(lines, frozenset(feeders.nodes), part, feeders.own_us, frozenset(senders))


def _sends_mostly(activity: Activity, lines: Mapping[str, frozenset[int]]) -> bool:
    """Whether most of the time that the thread puts into queues is for weights.

    A put takes microseconds: where none was seen at all, the lines that copy and send weights say enough.
    """
    weights = lines.get("send", frozenset())
    tree = activity.tree
    all_us = own_us = 0
    for node in tree.hot_nodes():
        if _is_put(tree, node):
            us = tree.total_cost(node).wall_us
            all_us += us
            own_us += us if node in weights else 0
    if not all_us:
        made = weights | lines.get("copy", frozenset())
        return any(node in made for node in tree.hot_nodes())
    return own_us > 0 and own_us >= MOSTLY * all_us


def _is_put(tree: CallTree, node: int) -> bool:
    frame = tree.frame(node)
    parent = tree.nodes[node].parent
    return _puts(frame) and (parent == NO_PARENT or not _puts(tree.frame(parent)))


def _puts(frame: Frame) -> bool:
    file = frame.file.replace("\\", "/")
    return file.endswith("multiprocessing/queues.py") and last_name(frame.function).startswith(
        "put"
    )


def _feeders(activities: Iterable[Activity], senders: set[int]) -> _Feeders:
    found = _Feeders()
    for activity in activities:
        if activity.is_main:
            continue
        inside: set[int] = set()
        tree = activity.tree
        for node in tree.hot_nodes():
            if tree.nodes[node].parent in inside or serves_queues(tree.frame(node)):
                inside.add(node)
        us = sum(tree.self_cost(node).busy_us for node in inside)
        found.all_us += us
        if activity.process in senders:
            found.own_us += us
            found.nodes |= inside
    return found
