"""Parts of training, told from the stacks: what each costs, and how fast it alone would let it be.

The nearest frame that is known decides, from the leaf up: a library by its path
(``rlprof/libraries/``), a function of the user's by its name and class. A function that calls the environment is the training loop itself, and
no part, whatever its name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from rlprof.libraries.known import files_of
from rlprof.model.activity import FOR_OTHERS, Activity, Component, HostLoad, WaitKind
from rlprof.model.calltree import CallTree
from rlprof.model.counters import phase_of_counter
from rlprof.model.recording import NO_PARENT, Frame, Node
from rlprof.syntax.module import parse
from rlprof.syntax.origin import Origin, origin_of_file

ENVIRONMENT: Final = "environment"
INFERENCE: Final = "inference"
LEARNING: Final = "learning"
TRANSFER: Final = "transfer"
IPC_WAIT: Final = "IPC wait"
LOGGING: Final = "logging"
CONFIGURATION: Final = "configuration"
DATA: Final = "data preparation"
OTHER: Final = "other"

SHARES_THE_WORK: Final = 0.25
"""Part of the busiest thread's time in a component from which on another does it side by side."""

LEAST_SHARE: Final = 0.002
"""Of the critical time and of all CPU time: below it a component is not listed."""

_FILES: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    (LOGGING, files_of(lambda library: library.logging)),
    (CONFIGURATION, files_of(lambda library: library.configuration)),
    (DATA, files_of(lambda library: library.data)),
    (LEARNING, files_of(lambda library: library.learner)),
    (TRANSFER, files_of(lambda library: library.transfer)),
    (ENVIRONMENT, files_of(lambda library: library.environment)),
)

_is_network: Final = files_of(lambda library: library.policy)
"""Learning below a learner, else inference."""

_ENVIRONMENT_CLASS: Final = re.compile(r"env|world|game|simulat|arena|bandit|maze|task$", re.I)
_ENVIRONMENT_NAMES: Final = frozenset({"step", "reset", "_step", "_reset", "render", "observe"})
_ENVIRONMENT_FILE: Final = re.compile(
    r"(^|[/\\_])(env|envs|environment|environments|simulator)(_\w+)?\.py$"
)

_LEARNING_NAME: Final = re.compile(
    r"^_?(learn|update|optimi[sz]e|backward|backprop|fit|train)(_?(step|batch|policy|critic|actor|"
    r"network|model|params|parameters|minibatch|epoch|q|value|target|once|on_batch|agent|weights))*$"
    r"|^(compute|calc\w*)_?\w*loss\w*$|^\w*_loss$"
)
_INFERENCE_NAME: Final = re.compile(
    r"^_?(act|predict|forward|infer\w*|policy|(select|get|choose|sample|pick)_?actions?\w*"
    r"|actions?_(for|of)\w*|greedy\w*|epsilon_greedy|get_action_and_value|get_value)$"
)
_DATA_NAME: Final = re.compile(
    r"^_?(sample|sample_\w+|collate\w*|preprocess\w*|(make|get|build|next|draw)_?(mini)?batch\w*"
    r"|compute_(gae|returns|advantages?\w*)|gae|discount\w*|normali[sz]e\w*)$"
)
_LOGGING_NAME: Final = re.compile(
    r"^_?log(_\w+)?$|^(write|record)_(metrics?|summary|scalars?|logs?)$"
)
_TRANSFER_NAME: Final = re.compile(
    r"^_?(publish|broadcast|sync|send|push|pull)_?(weights|params|parameters|model|policy|state)\w*$"
)


def classify_components(nodes: Sequence[Node], sources: Mapping[str, str]) -> list[str]:
    """The component that a node's busy time belongs to, by node id."""
    own = [_component(node.frame, sources) for node in nodes]
    loops = _around_the_environment(nodes, own)
    found: list[str] = []
    for number, parent, frame in nodes:
        above = found[parent] if parent != NO_PARENT else OTHER
        name = own[number]
        if name == ENVIRONMENT or (name and (frame.file, frame.function) not in loops):
            found.append(name)
        elif _is_network(frame.file):
            found.append(above if above in (LEARNING, INFERENCE, ENVIRONMENT) else INFERENCE)
        else:
            found.append(OTHER if (frame.file, frame.function) in loops else above)
    return found


def _around_the_environment(
    nodes: Sequence[Node], own: Sequence[str]
) -> frozenset[tuple[str, str]]:
    """Functions that call the environment, and so are the loop around all parts."""
    around: set[tuple[str, str]] = set()
    seen: set[int] = set()
    for number, parent, _ in nodes:
        if own[number] != ENVIRONMENT:
            continue
        current = parent
        while current != NO_PARENT and current not in seen:
            seen.add(current)
            if own[current] != ENVIRONMENT:
                frame = nodes[current].frame
                around.add((frame.file, frame.function))
            current = nodes[current].parent
    return frozenset(around)


def _component(frame: Frame, sources: Mapping[str, str]) -> str:
    kind = origin_of_file(frame.file)
    if kind is Origin.YOURS:
        return _of_yours(frame, sources)
    return "" if kind is Origin.RUNTIME else _of_library(frame.file)


def _of_library(file: str) -> str:
    return next((name for name, is_part in _FILES if is_part(file)), "")


def _of_yours(frame: Frame, sources: Mapping[str, str]) -> str:
    scope, _, function = frame.function.replace(".<locals>", "").rpartition(".")
    owner = scope or _class_at(frame, sources)
    if function in _ENVIRONMENT_NAMES and (
        _ENVIRONMENT_CLASS.search(owner) or _ENVIRONMENT_FILE.search(frame.file)
    ):
        return ENVIRONMENT
    for name, pattern in (
        (INFERENCE, _INFERENCE_NAME),
        (DATA, _DATA_NAME),
        (LEARNING, _LEARNING_NAME),
        (LOGGING, _LOGGING_NAME),
        (TRANSFER, _TRANSFER_NAME),
    ):
        if pattern.match(function):
            return name
    return ""


def _class_at(frame: Frame, sources: Mapping[str, str]) -> str:
    """Before Python 3.11 frames do not name the class; the source does."""
    module = parse(sources[frame.file]) if frame.file in sources else None
    function = module.function_at(frame.line) if module else None
    return function.class_name if function else ""


def component_of(node: int, *, idle: bool, kind: WaitKind | None, names: Sequence[str]) -> str:
    """The component of a node's idle or busy time: a wait for others is none of its caller's."""
    if kind is WaitKind.POLL or (idle and (kind in FOR_OTHERS or kind is WaitKind.LOCK)):
        return IPC_WAIT
    return names[node]


def process_components(
    costs: Mapping[int, Mapping[int, Sequence[int]]],
    process_of: Sequence[int],
    kinds: Mapping[int, WaitKind],
    names: Sequence[str],
) -> dict[int, dict[str, int]]:
    """Busy µs by component of each process; ``costs`` is ``SteadyThreads.costs``."""
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for thread, nodes in costs.items():
        for node, (wall, idle, _) in nodes.items():
            name = component_of(node, idle=False, kind=kinds.get(node), names=names)
            found[process_of[thread]][name] += wall - idle
    return {process: dict(parts) for process, parts in found.items()}


def measure_components(
    activities: Collection[Activity],
    steady: CallTree,
    critical_us: int,
    load: HostLoad,
    steps: float,
    kinds: Mapping[int, WaitKind],
    names: Sequence[str],
) -> tuple[Component, ...]:
    """Cost and ceiling of each component, the largest share of the critical time first.

    Ceiling: ``parallel`` threads that do nothing else make ``parallel * steps / cpu time`` steps
    per second. CPU time, since what waits for a CPU waits for the other components.
    """
    shares = _shares(steady, kinds, names)
    cpu = _cpu_by_thread(activities, kinds, names)
    all_cpu = sum(sum(threads.values()) for threads in cpu.values())
    rows = []
    for name in sorted({*shares, *cpu}):
        threads = cpu.get(name, {})
        total = sum(threads.values())
        share = shares.get(name, 0.0) / critical_us if critical_us else 0.0
        if share < LEAST_SHARE and total < LEAST_SHARE * max(1, all_cpu):
            continue
        most = max(threads.values(), default=0)
        doing = sum(1 for us in threads.values() if us >= SHARES_THE_WORK * most and us)
        parallel = min(float(doing), load.cores)
        ceiling = parallel * steps * 1e6 / total if steps and total and name != IPC_WAIT else None
        rows.append(
            Component(name, min(1.0, share), total / steps if steps else 0.0, parallel, ceiling)
        )
    rows.sort(key=lambda row: (-row.share, -row.per_step_us, row.name))
    return tuple(rows)


def _shares(
    tree: CallTree, kinds: Mapping[int, WaitKind], names: Sequence[str]
) -> dict[str, float]:
    shares: dict[str, float] = defaultdict(float)
    for node, cost in tree.self_costs():
        kind = kinds.get(node)
        shares[component_of(node, idle=True, kind=kind, names=names)] += cost.idle_us
        shares[component_of(node, idle=False, kind=kind, names=names)] += cost.busy_us
    return shares


def _cpu_by_thread(
    activities: Collection[Activity], kinds: Mapping[int, WaitKind], names: Sequence[str]
) -> dict[str, dict[int, int]]:
    cpu: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for activity in activities:
        for node, cost in activity.tree.self_costs():
            if cost.cpu_us:
                name = component_of(node, idle=False, kind=kinds.get(node), names=names)
                cpu[name][activity.thread] += cost.cpu_us
    return cpu


def marked_phases(
    counts: Mapping[int, Mapping[str, float]],
    critical: Collection[int],
    critical_us: int,
    steps: float,
    cores: float,
) -> tuple[Component, ...]:
    """The program's own ``rlprof.phase`` marks; ``critical`` holds ids of the critical processes."""
    wall: dict[str, float] = defaultdict(float)
    cpu: dict[str, list[float]] = defaultdict(list)
    for process, named in counts.items():
        for name, value in named.items():
            marked = phase_of_counter(name)
            if marked is None:
                continue
            phase, what = marked
            if what == "wall_ns" and process in critical:
                wall[phase] += value / 1000
            elif what == "cpu_ns":
                cpu[phase].append(value / 1000)
    rows = []
    for phase in sorted(cpu):
        total = sum(cpu[phase])
        doing = sum(1 for us in cpu[phase] if us >= SHARES_THE_WORK * max(cpu[phase]) and us)
        parallel = min(float(doing), cores)
        rows.append(
            Component(
                name=phase,
                share=min(1.0, wall[phase] / critical_us) if critical_us else 0.0,
                per_step_us=total / steps if steps else 0.0,
                parallel=parallel,
                ceiling_sps=parallel * steps * 1e6 / total if steps and total else None,
                is_marked=True,
            )
        )
    rows.sort(key=lambda row: (-row.share, row.name))
    return tuple(rows)
