"""Costs and the calling-context tree they hang on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from rlprof.model.recording import NO_PARENT, Frame, Node


class Cost(NamedTuple):
    """Time in µs: ``wall`` = busy + ``idle``; ``cpu`` is the part of busy on a CPU."""

    wall_us: int = 0
    idle_us: int = 0
    cpu_us: int = 0

    @property
    def busy_us(self) -> int:
        return self.wall_us - self.idle_us

    def plus(self, other: Cost) -> Cost:
        return Cost(
            self.wall_us + other.wall_us, self.idle_us + other.idle_us, self.cpu_us + other.cpu_us
        )


def with_callees(nodes: Sequence[Node], time_us: Sequence[int]) -> list[int]:
    """Return the time (µs) of each node with all that it calls, from its own: a parent's id is smaller than its children's."""
    total_us = list(time_us)
    for number, parent, _ in reversed(nodes):
        if parent != NO_PARENT:
            total_us[parent] += total_us[number]
    return total_us


class CallTree:
    """Self and total time of every node of the calling-context tree, for one selection of samples.

    ``nodes`` is shared by all trees of a profile; a parent's id is smaller than its children's.
    """

    def __init__(self, nodes: tuple[Node, ...], self_costs: Mapping[int, Cost]) -> None:
        self.nodes = nodes
        self._self = dict(self_costs)
        self._summed: dict[int, Cost] | None = None
        self._children: dict[int, list[int]] | None = None

    @property
    def _total(self) -> dict[int, Cost]:
        # When first asked for: of most threads only the self times are looked at.
        if self._summed is None:
            self._summed = self._sum_up()
        return self._summed

    def _sum_up(self) -> dict[int, Cost]:
        total = dict(self._self)
        for node in sorted(self.with_callers(total), reverse=True):
            parent = self.nodes[node].parent
            if parent != NO_PARENT:
                total[parent] = total.get(parent, Cost()).plus(total[node])
        return total

    @property
    def total(self) -> Cost:
        """The cost of the whole selection."""
        return sum_costs(self._self.values())

    def self_costs(self) -> Iterable[tuple[int, Cost]]:
        """Every node with time of its own, in no order."""
        return self._self.items()

    def self_cost(self, node: int) -> Cost:
        return self._self.get(node, Cost())

    def cost_of(self, nodes: Iterable[int]) -> Cost:
        """Return the time of these nodes themselves, all together."""
        return sum_costs(map(self.self_cost, nodes))

    def total_cost(self, node: int) -> Cost:
        """The node's own time and that of everything it called."""
        return self._total.get(node, Cost())

    def hot_nodes(self) -> Iterator[int]:
        """Yield every node with time in or below it, parents first."""
        return iter(sorted(self._total))

    def roots(self) -> list[int]:
        return self.children(NO_PARENT)

    def children(self, node: int) -> list[int]:
        """The children with time in or below them, in order of id."""
        if self._children is None:
            children: dict[int, list[int]] = {}
            for child in sorted(self._total):
                children.setdefault(self.nodes[child].parent, []).append(child)
            self._children = children
        return self._children.get(node, [])

    def subtree(
        self, node: int, leaves_out: Callable[[int], bool] = lambda _node: False
    ) -> Iterator[int]:
        """Yield ``node`` and everything below it that has time, but for nodes that ``leaves_out`` names, and what is below these."""
        stack = [node]
        while stack:
            current = stack.pop()
            yield current
            stack.extend(child for child in self.children(current) if not leaves_out(child))

    def subtrees(self, tops: Iterable[int]) -> frozenset[int]:
        """All of these nodes, and all below them that has time."""
        return frozenset(node for top in tops for node in self.subtree(top))

    def topmost(self, matches: Callable[[Frame], bool]) -> Iterator[int]:
        """Yield the nodes that have time and match, without those below another such node."""
        # A line stands at thousands of nodes where functions call each other in all orders.
        matches = cache(matches)
        inside: set[int] = set()
        for node in self.hot_nodes():
            if self.nodes[node].parent in inside:
                inside.add(node)
            elif matches(self.frame(node)):
                inside.add(node)
                yield node

    def with_callers(self, nodes: Iterable[int]) -> set[int]:
        seen = set(nodes)
        for node in tuple(seen):
            parent = self.nodes[node].parent
            while parent != NO_PARENT and parent not in seen:
                seen.add(parent)
                parent = self.nodes[parent].parent
        return seen

    def ancestors(self, node: int) -> Iterator[int]:
        """Yield the callers of ``node``, nearest first."""
        parent = self.nodes[node].parent
        while parent != NO_PARENT:
            yield parent
            parent = self.nodes[parent].parent

    def frame(self, node: int) -> Frame:
        return self.nodes[node].frame


def nearest(
    nodes: Sequence[Node], node: int, test: Callable[[Frame], bool], known: dict[int, int]
) -> int:
    """The nearest of ``node`` and its callers for which ``test`` holds.

    ``known`` has what is given for none under ``NO_PARENT``, and keeps the answers.
    """
    path = []
    while node not in known:
        path.append(node)
        if test(nodes[node].frame):
            known[node] = node
            break
        node = nodes[node].parent
    found = known[node]
    known.update(dict.fromkeys(path, found))
    return found


def handed_down(
    nodes: Sequence[Node], node: int, own: Callable[[Frame, bool], bool], known: dict[int, bool]
) -> bool:
    """Return what holds for ``node`` by its callers: ``own`` tells it of a frame, from what holds for its caller.

    ``known`` has what holds above the roots under ``NO_PARENT``, and keeps the answers.
    """
    path = []
    while node not in known:
        path.append(node)
        node = nodes[node].parent
    holds = known[node]
    for passed in reversed(path):
        holds = known[passed] = own(nodes[passed].frame, holds)
    return holds


def sum_costs(costs: Iterable[Cost]) -> Cost:
    wall = idle = cpu = 0
    for cost in costs:
        wall += cost.wall_us
        idle += cost.idle_us
        cpu += cost.cpu_us
    return Cost(wall, idle, cpu)
