"""The part each process plays in a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from rlprof.model.recording import POOLED, Process
from rlprof.profile import components

MAIN: Final = "main"
WORKER: Final = "worker"
RESOURCE_TRACKER: Final = "resource tracker"
FORKSERVER: Final = "forkserver"
LAUNCHER: Final = "launcher"
OTHER: Final = "other"

LEARNER: Final = "learner"
ENVIRONMENT_WORKER: Final = "environment worker"
INFERENCE: Final = "inference worker"
DATA_LOADER: Final = "data loader"
LOGGER: Final = "logger"

ROLES: Final = (
    MAIN,
    WORKER,
    RESOURCE_TRACKER,
    FORKSERVER,
    LAUNCHER,
    OTHER,
    LEARNER,
    ENVIRONMENT_WORKER,
    INFERENCE,
    DATA_LOADER,
    LOGGER,
)

SERVICES: Final = frozenset({RESOURCE_TRACKER, FORKSERVER})
"""Processes of ``multiprocessing`` itself, which do none of the program's work."""


def process_roles(processes: Sequence[Process], working: Collection[int]) -> dict[int, str]:
    """The role of each process by its id; ``working`` holds the ids of those that do the work.

    A program is ``main`` where it or a worker that it forked or spawned does the work. What only
    started that program as a command (torchrun, a shell script) is its ``launcher``.
    """
    roles = {process.id: _own_role(process) for process in processes}
    by_pid = {process.pid: process for process in processes}
    programs: dict[int, list[Process]] = {}
    for process in processes:
        if process.id in working:
            line = [process, *ancestors(process, by_pid)]
            commands = [ancestor for ancestor in line if roles[ancestor.id] == OTHER]
            if commands:
                programs[commands[0].id] = commands[1:]
    for launchers in programs.values():
        roles.update((launcher.id, LAUNCHER) for launcher in launchers)
    roles.update((program, MAIN) for program in programs)
    if not programs and processes and roles[processes[0].id] == OTHER:
        roles[processes[0].id] = MAIN
    return roles


_DOMINATES: Final = 0.4
"""Part of a worker's busy time from which on a component names it."""

_OF_COMPONENT: Final = {
    components.ENVIRONMENT: ENVIRONMENT_WORKER,
    components.INFERENCE: INFERENCE,
    components.LEARNING: LEARNER,
    components.DATA: DATA_LOADER,
    components.LOGGING: LOGGER,
}


def roles_by_work(
    roles: Mapping[int, str],
    busy_us: Mapping[int, Mapping[str, int]],
    updates: Collection[int],
    steps: Collection[int],
) -> dict[int, str]:
    """``roles`` with every plain worker called by what it does.

    ``busy_us``: by process and component; ``updates``, ``steps``: processes that did optimizer
    steps, and that stepped an environment of their own. Passing messages on is nobody's role.
    """
    named = dict(roles)
    for process, role in roles.items():
        if role != WORKER:
            continue
        parts = {name: us for name, us in busy_us.get(process, {}).items() if name in _OF_COMPONENT}
        total = sum(busy_us.get(process, {}).values())
        heaviest = max(parts, key=lambda name: (parts[name], name), default="")
        if process in updates:
            named[process] = LEARNER
        elif process in steps:
            named[process] = ENVIRONMENT_WORKER
        elif heaviest and parts[heaviest] >= _DOMINATES * total:
            named[process] = _OF_COMPONENT[heaviest]
    return named


def _own_role(process: Process) -> str:
    command = " ".join(process.argv)
    if ".resource_tracker" in command or "semaphore_tracker" in command:
        return RESOURCE_TRACKER
    if "multiprocessing.forkserver" in command and process.start_method != "forkserver":
        return FORKSERVER
    return WORKER if process.start_method in POOLED else OTHER


def ancestors(process: Process, by_pid: Mapping[int, Process]) -> Iterator[Process]:
    """Yield the parents of ``process``, nearest first, as far as they were recorded."""
    seen = {process.pid}
    parent = by_pid.get(process.ppid)
    # A pid may have been used twice in one run, so that parents could go round in a circle.
    while parent is not None and parent.pid not in seen:
        seen.add(parent.pid)
        yield parent
        parent = by_pid.get(parent.ppid)
