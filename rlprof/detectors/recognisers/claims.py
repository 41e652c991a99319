"""Savings for time that is work only in part: waits taken out, waits for the interpreter lock added."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rlprof.model.activity import FOR_OTHERS, WaitKind
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Range, Saving
from rlprof.model.profile import Profile


def working_time(
    tree: CallTree, nodes: Collection[int], kinds: Mapping[int, WaitKind], removable: Range
) -> Iterator[Saving]:
    """Yield savings of the busy time of ``nodes``: what waits for others there is not the fix's."""
    waiting = frozenset(node for node in nodes if kinds.get(node) in FOR_OTHERS)
    working = frozenset(nodes) - waiting
    if any(tree.self_cost(node).wall_us for node in working):
        yield Saving(working, removable)
    wall = tree.cost_of(waiting).wall_us
    busy = tree.cost_of(waiting).busy_us
    if busy:
        yield Saving(waiting, scaled(removable, busy / wall))


def interpreter_lock_waits(
    profile: Profile, processes: Collection[int], held_us: float, removable: Range
) -> Iterator[Saving]:
    """Yield savings of the time that critical threads of ``processes`` wait for the GIL.

    Never more than ``held_us``, the busy time of the threads that the fix takes away.
    """
    tree = profile.steady
    nodes = {
        node
        for wait in profile.waits
        if wait.kind is WaitKind.GIL
        and wait.process in processes
        and wait.thread in profile.critical.threads
        for node in wait.nodes
        # Elsewhere the line's own work is most of its time, and others may explain that.
        if 2 * tree.self_cost(node).idle_us >= tree.self_cost(node).wall_us > 0
    }
    wall = tree.cost_of(nodes).wall_us
    idle = tree.cost_of(nodes).idle_us
    if idle:
        yield Saving(frozenset(nodes), scaled(removable, min(idle, held_us) / wall))


def scaled(removable: Range, part: float) -> Range:
    return Range(removable.low * part, removable.high * part)
