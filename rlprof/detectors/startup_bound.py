"""Imports, process creation and set-up that outweigh the training after them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples
from rlprof.detectors.recognisers.processes.worker_start import (
    agent_start,
    is_heavy,
    seen_to_its_end,
    worker_start,
)
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Location, Range, Saving
from rlprof.model.profile import PhaseKind, Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import Line, UserLines, added_up, heaviest_line
from rlprof.syntax.origin import is_import_machinery
from rlprof.units import duration, percent

MIN_SHARE: Final = 0.25
"""Least share of the run. With more than three times as much training after it, start-up is not what takes long."""

MIN_START_UP_US: Final = 100_000
"""Under a tenth of a second nobody waits for it; a bare ``import numpy`` takes as much."""

MIN_MODULE_SHARE: Final = 0.05
"""Least share of start-up: lighter imports and lines are not named."""

NEEDED_LATER: Final = Range(0.0, 0.9)
"""Removable from imports that the training uses: nothing in a process that has to import them;
nearly all in workers that a fork or a pool kept alive would spare."""

NOT_SEEN_LATER: Final = Range(0.3, 0.95)
"""Removable from imports of which no frame was seen afterwards: imported where they are used, they
cost only those who use them. Some are needed by a line too quick to be sampled, hence the low."""

SET_UP: Final = Range(0.0, 0.5)
"""Removable from set-up lines: often it can be cached or shared, which nothing here shows."""

SHOWN_MODULES: Final = 4
SHOWN_LINES: Final = 6

_MODULE: Final = re.compile(
    r"[/\\]python3\.\d+t?[/\\](?:(?:site|dist)-packages[/\\])?(?P<path>.+)$"
)
_INSTALLED: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\](?P<path>.+)$")
_FROZEN: Final = re.compile(r"^<frozen (?P<name>[\w.]+)>$")
_INTERPRETER: Final = "site"
"""The module by which an interpreter starts, with what ``.pth`` files have it import: no program goes without."""


@dataclass(slots=True)
class _StartUp:
    """Start-up time by what it went into, on the run's own timeline."""

    modules: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Inclusive time by top-level module as imported from the user's code or the interpreter (µs)."""
    nodes: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    importing: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    """The user's lines that import (µs)."""
    setting_up: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    """The user's lines that work themselves (µs)."""
    set_up_nodes: set[int] = field(default_factory=set)

    @property
    def is_led_by_imports(self) -> bool:
        """True if no line that sets up takes longer than the module that takes longest to import."""
        return max(self.modules.values(), default=0) >= max(self.setting_up.values(), default=0.0)

    @property
    def leading(self) -> dict[Line, float]:
        """The lines of what takes longest."""
        return self.importing if self.is_led_by_imports else self.setting_up


def detect(profile: Profile) -> Iterable[Finding]:
    wall = profile.run.wall_us
    workers = worker_start(profile)
    # What workers import is told by its own detector, process-startup, where it is much.
    has_own = is_heavy(workers, profile)
    left_out = agent_start(profile.start_up)
    agent_us = profile.start_up.cost_of(left_out).wall_us
    start_up = max(0, profile.start_up_us - agent_us)
    told = start_up - workers.us if has_own else start_up
    if not wall or told < MIN_START_UP_US or told / wall < MIN_SHARE:
        return
    if not seen_to_its_end(profile):
        return
    lines = UserLines.of(profile, profile.start_up)
    found = _measure(profile.start_up, lines, left_out | workers.nodes if has_own else left_out)
    if not found.nodes and not found.set_up_nodes:
        return
    heaviest = _heaviest(found, start_up)
    processes = sum(1 for process in profile.processes if process.python)
    yield Finding(
        title=_title(heaviest if found.is_led_by_imports else [], start_up / wall),
        phase=PhaseKind.START_UP,
        savings=tuple(_savings(found, profile)),
        locations=_locations(found, lines, wall),
        evidence=tuple(_evidence(heaviest, profile, processes, agent_us)),
        fix=_fix(processes),
        confidence=Confidence.BOUNDED,
    )


def _locations(found: _StartUp, lines: UserLines, wall_us: int) -> tuple[Location, ...]:
    """Return the heaviest, but first of all that of which the title tells."""
    leading = heaviest_line(found.leading) if found.leading else None
    both = added_up((found.importing, found.setting_up))
    ranked = lines.locations(both, wall_us)
    return tuple(
        sorted(ranked, key=lambda each: Line(each.file, each.line, each.function) != leading)
    )[:SHOWN_LINES]


class _Import(NamedTuple):
    """An import under way: what it loads, and the user's line that asked for it."""

    module: str
    line: Line | None


def _measure(tree: CallTree, lines: UserLines, left_out: frozenset[int]) -> _StartUp:
    found = _StartUp()
    under_way: dict[int, _Import] = {}
    for node in tree.hot_nodes():
        if node in left_out:
            continue
        frame = tree.frame(node)
        own = tree.self_cost(node)
        above = under_way.get(tree.nodes[node].parent)
        # A module of the user's that is being imported runs lines, and imports, of the user's.
        current = None if lines.is_yours(frame) else above
        if current is None and is_import_machinery(frame):
            current = _import_at(tree, node, lines)
        if current is not None:
            under_way[node] = current
            _add_import(found, current, node, own.wall_us)
        elif own.busy_us and (line := _own_line(lines, node)) is not None:
            found.setting_up[line] += own.busy_us
            found.set_up_nodes.add(node)
    return found


def _add_import(found: _StartUp, current: _Import, node: int, wall_us: int) -> None:
    if wall_us:
        found.modules[current.module] += wall_us
        found.nodes[current.module].add(node)
        if current.line is not None:
            found.importing[current.line] += wall_us


def _import_at(tree: CallTree, node: int, lines: UserLines) -> _Import:
    return _Import(_loaded(tree, node) or _named(lines, lines.owner(node)), _own_line(lines, node))


def _own_line(lines: UserLines, node: int) -> Line | None:
    """The user's line that led to ``node``; how a worker is started is no line of theirs."""
    owner = lines.owner(node)
    if owner == NO_PARENT or lines.tree.frame(owner).file.startswith("<"):
        return None
    return lines.line(owner)


def _loaded(tree: CallTree, node: int) -> str:
    """The top-level module that the import at ``node`` runs; empty when it ran no Python."""
    while below := tree.children(node):
        node = max(below, key=lambda child: (tree.total_cost(child).wall_us, -child))
        frame = tree.frame(node)
        if frame.file and not is_import_machinery(frame):
            return top_level_module(frame.file)
    return ""


def _named(lines: UserLines, owner: int) -> str:
    """The top-level module that the import statement at ``owner`` names."""
    statement = lines.statement(lines.tree.frame(owner)) if owner != NO_PARENT else None
    node = statement.node if statement else None
    if isinstance(node, ast.ImportFrom) and node.module:
        return node.module.partition(".")[0]
    if isinstance(node, ast.Import):
        return node.names[0].name.partition(".")[0]
    return "other modules"


def top_level_module(file: str) -> str:
    """``…/site-packages/torch/nn/init.py`` -> ``torch``; a file of the user's by its own name."""
    if frozen := _FROZEN.match(file):
        return frozen["name"].partition(".")[0]
    found = _INSTALLED.search(file) or _MODULE.search(file)
    parts = re.split(r"[/\\]", found.group("path") if found else file)
    first = parts[0] if found else parts[-1]
    return first.removesuffix(".py") or file


def _heaviest(found: _StartUp, start_up_us: int) -> list[tuple[str, int]]:
    ranked = sorted(found.modules.items(), key=lambda item: (-item[1], item[0]))
    return [(name, us) for name, us in ranked if us >= MIN_MODULE_SHARE * start_up_us][
        :SHOWN_MODULES
    ]


def _savings(found: _StartUp, profile: Profile) -> Iterable[Saving]:
    later = {top_level_module(file) for file in _files(profile.steady)}
    for module in sorted(found.nodes):
        is_needed = module in later or module == _INTERPRETER
        range_ = NEEDED_LATER if is_needed else NOT_SEEN_LATER
        yield Saving(frozenset(found.nodes[module]), range_)
    if found.set_up_nodes:
        yield Saving(frozenset(found.set_up_nodes), SET_UP)


def _files(tree: CallTree) -> set[str]:
    return {tree.frame(node).file for node in tree.hot_nodes()}


def _title(heaviest: list[tuple[str, int]], share: float) -> str:
    names = ", ".join(name for name, _ in heaviest[:2])
    return f"start-up takes {percent(share)} of the run" + (
        f", led by importing {names}" if names else ""
    )


def _evidence(
    heaviest: list[tuple[str, int]], profile: Profile, processes: int, agent_us: int
) -> Iterable[str]:
    training = max(0, profile.run.wall_us - profile.start_up_us)
    counted = profile.throughput.total_steps > 0
    border = "the first step" if counted else "the end of the imports"
    yield (
        f"{duration(profile.start_up_us)} before {border}, {duration(training)} after it, "
        f"in {processes} Python process{'es' if processes != 1 else ''}"
    )
    if heaviest:
        yield "imports: " + ", ".join(f"{name} {duration(us)}" for name, us in heaviest)
    if agent_us >= MIN_MODULE_SHARE * profile.start_up_us:
        yield f"{duration(agent_us)} of it the start of rlprof's agent, which is in no price"
    waits = profile.start_up.total.idle_us
    if waits >= MIN_MODULE_SHARE * profile.start_up_us:
        yield f"{duration(waits)} of it waiting, for processes to start or for files"


def _fix(processes: int) -> str:
    fix = "Import what the training does not need inside the functions that use it"
    if processes > 1:
        fix += (
            "; start workers by fork, or forkserver with a preload, and keep one pool for all runs"
        )
    return fix + ". For a longer training there is nothing to do: start-up is paid once."


DETECTOR: Final = Detector(
    id="startup-bound",
    name="start-up that outweighs the training after it",
    in_samples=InSamples(detect),
)
