"""Tell what starting workers takes: imports in them, and processes made again and again, apart from the start of rlprof's agent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rlprof.model.calltree import CallTree, handed_down
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, POOLED, Frame, Process
from rlprof.profile.roles import SERVICES
from rlprof.source.lines import last_name
from rlprof.syntax.origin import installed_package, is_import_machinery

AGENT_FILES: Final = re.compile(r"[/\\]rlprof[/\\]agent[/\\]|[/\\]sitecustomize\.py$")
"""Files that rlprof brings along: their time is stated as its overhead, and not the user's to make cheaper."""

_SITE: Final = re.compile(r"^<frozen site>$|[/\\]site\.py$")
_STARTS: Final = "execsitecustomize"
"""The function of ``site`` that looks for ``sitecustomize``, which is the agent's. Stacks that the clock took of it end
there, for frames of the agent are left out of them."""

REMADE_ROUNDS: Final = 2.5
"""Processes over those that live side by side, from which on they are made again and again: a worker
that died and was replaced, or one pool for training and one for evaluation, stay below it."""

MIN_SHARE_ONCE: Final = 0.25
"""Least share of the run. Workers that are started once are paid once: with three times as much training after
it, that is not what takes long."""

MIN_SHARE_REMADE: Final = 0.05
"""Least share of the run, where workers are made again and again: a longer training pays it more often."""

MIN_US: Final = 200_000
"""Nobody waits for less; two workers that import numpy alone take as much."""

STOPPED_NOTE: Final = "recording-stopped"
"""Slug of the recorder's note that it stopped before the program did (``--duration``)."""

_ENTRY: Final = re.compile(r"[/\\]multiprocessing[/\\](spawn|forkserver|process)\.py$")
_PREPARES: Final = "spawn_main"
_RUNS: Final = "_bootstrap"


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """The start of all processes that ``multiprocessing`` made for the program."""

    processes: tuple[Process, ...]
    at_once: int
    """How many of them live side by side."""
    nodes: frozenset[int]
    """Imports in them, and what ``spawn`` runs of the main script: nodes of ``Profile.start_up``."""
    us: int
    """Time of ``nodes`` on the run's own timeline."""

    @property
    def rounds(self) -> float:
        """The number of times that the whole set was made."""
        return len(self.processes) / self.at_once if self.at_once else 0.0

    @property
    def remade(self) -> bool:
        return self.rounds >= REMADE_ROUNDS


def worker_start(profile: Profile) -> WorkerStart:
    processes = tuple(
        process
        for process in profile.processes
        if process.start_method in POOLED and profile.process_roles.get(process.id) not in SERVICES
    )
    roles = {profile.process_roles.get(process.id, "") for process in processes}
    pooled = {process.id for process in processes}
    others = {
        role for process_id, role in profile.process_roles.items() if process_id not in pooled
    }
    # Reading the stacks takes a while: not where all start-up together would be too little.
    enough = profile.start_up.total.wall_us >= MIN_SHARE_REMADE * profile.run.wall_us
    nodes = _starting_nodes(profile, roles - others) if processes and enough else frozenset()
    return WorkerStart(
        processes=processes,
        at_once=_usually_alive(processes, profile.run.wall_us),
        nodes=nodes,
        us=profile.start_up.cost_of(nodes).wall_us,
    )


def is_heavy(start: WorkerStart, profile: Profile) -> bool:
    """Tell whether imports in workers are worth a finding of their own."""
    wall = profile.run.wall_us
    if not wall or start.us < MIN_US:
        return False
    if start.remade and start.us >= MIN_SHARE_REMADE * wall:
        return True
    return start.us >= MIN_SHARE_ONCE * wall and seen_to_its_end(profile)


def seen_to_its_end(profile: Profile) -> bool:
    """Tell whether the training was recorded whole: else the share of start-up in it is not known."""
    run = profile.run
    stopped = any(note.slug == STOPPED_NOTE for note in profile.notes)
    return run.complete and run.exit_code is not None and not stopped


def _usually_alive(processes: Iterable[Process], end_us: int) -> int:
    """Return how many live side by side, as one of them sees it on average.

    Not the most at any time: an old pool may still be ending while the next is made.
    """
    changes = sorted(
        change
        for process in processes
        for change in (
            (process.started_us, 1),
            (process.ended_us if process.ended_us is not None else end_us, -1),
        )
    )
    alive = last_us = 0
    lived = seen = 0
    for at_us, change in changes:
        lived += alive * (at_us - last_us)
        seen += alive * alive * (at_us - last_us)
        alive += change
        last_us = at_us
    return max(1, round(seen / lived)) if lived else len(changes) // 2


def _starting_nodes(profile: Profile, workers: Collection[str]) -> frozenset[int]:
    """Nodes in which a worker gets ready: all before its target runs, and its imports; without the agent's.

    Whose they are their roles say: not every stack reaches up to where ``multiprocessing`` began.
    """
    tree = profile.start_up
    of_workers = {
        role for role in set(profile.node_roles.values()) if role and role.issubset(workers)
    }
    known: dict[int, bool] = {NO_PARENT: False}
    agent = agent_start(tree)
    return frozenset(
        node
        for node, cost in tree.self_costs()
        if cost.wall_us
        and node not in agent
        and profile.node_roles.get(node) in of_workers
        and handed_down(tree.nodes, node, _gets_ready, known)
    )


def _gets_ready(frame: Frame, caller_does: bool) -> bool:
    """Tell whether it is under an import, or under ``spawn_main`` and not yet in its target."""
    entry = _entry(frame)
    return entry == _PREPARES or is_import_machinery(frame) or (caller_does and entry != _RUNS)


@lru_cache(maxsize=16384)
def _entry(frame: Frame) -> str:
    """The function of ``multiprocessing`` by which a worker is entered; else empty."""
    if not _ENTRY.search(frame.file):
        return ""
    name = last_name(frame.function)
    return name if name in (_PREPARES, _RUNS) else ""


_MAKES: Final = re.compile(
    r"[/\\]multiprocessing[/\\](popen_\w+|pool|process)\.py$|[/\\]concurrent[/\\]futures[/\\]process\.py$"
)
_STARTING: Final = frozenset(
    {
        "start",
        "_launch",
        "_repopulate_pool",
        "_repopulate_pool_static",
        "_start_executor_manager_thread",
        "_launch_processes",
        "_spawn_process",
        "_adjust_process_count",
    }
)
"""Functions that make processes."""

_MAKING: Final = _STARTING | {"terminate", "_terminate_pool", "join", "shutdown", "close"}
"""Functions that make or end processes."""


def making_nodes(tree: CallTree) -> frozenset[int]:
    """Nodes with time in which processes are made and ended, what runs in them left out."""
    return _nodes_in(tree, _MAKING)


def starting_nodes(tree: CallTree) -> frozenset[int]:
    """Those of ``making_nodes`` in which processes are made."""
    return _nodes_in(tree, _STARTING)


def _nodes_in(tree: CallTree, functions: Collection[str]) -> frozenset[int]:
    inside: set[int] = set()
    for node in tree.hot_nodes():
        frame = tree.frame(node)
        if _entry(frame):
            continue
        if tree.nodes[node].parent in inside or _is_one_of(frame, functions):
            inside.add(node)
    return frozenset(node for node in inside if tree.self_cost(node).wall_us)


def _makes(frame: Frame) -> bool:
    return _is_one_of(frame, _MAKING)


def _is_one_of(frame: Frame, functions: Collection[str]) -> bool:
    return last_name(frame.function) in functions and bool(_MAKES.search(frame.file))


def runs_in_worker(node: int, tree: CallTree, known: dict[int, bool]) -> bool:
    """Tell whether a worker is past its start at ``node``: neither forked nor spawned just now.

    Stacks that do not reach up to where ``multiprocessing`` began are the worker's own work.
    ``known`` keeps the answers; all trees of a profile may share it.
    """
    known.setdefault(NO_PARENT, True)
    return handed_down(tree.nodes, node, _is_past_its_start, known)


def _is_past_its_start(frame: Frame, caller_is: bool) -> bool:
    entry = _entry(frame)
    is_at_work = caller_is and bool(frame.file) and entry != _PREPARES
    return entry == _RUNS or (is_at_work and not _makes(frame))


def agent_start(tree: CallTree) -> frozenset[int]:
    """Nodes in which a process starts the agent. A package that a ``sitecustomize`` of the user's imports is not in it."""
    known: dict[int, bool] = {NO_PARENT: False}
    return frozenset(
        node
        for node, cost in tree.self_costs()
        if cost.wall_us and handed_down(tree.nodes, node, _is_of_the_agent, known)
    )


def _is_of_the_agent(frame: Frame, caller_is: bool) -> bool:
    name = last_name(frame.function)
    if AGENT_FILES.search(frame.file):
        return caller_is or name == "<module>"
    if name == _STARTS and _SITE.search(frame.file):
        return True
    return caller_is and not installed_package(frame.file)
