"""Time in OmegaConf's node access, under a line that runs again and again."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import CallTree
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, last_name, short_place
from rlprof.syntax.nodes import nodes_in
from rlprof.syntax.origin import Origin, installed_package, origin
from rlprof.units import percent

MIN_SHARE: Final = 0.005
"""Least share of the critical time. Half of what a report lists: below it a sample or two decide."""

PLAIN_ACCESS_LEFT: Final = calibrated(
    0.02,
    unit="part of the time of the reads",
    source="Python 3.11, omegaconf 2.4: 23.5 µs for cfg.a.b, 0.05 as attributes of a dataclass, "
    "0.035 as dict items",
    date="2026-11-21",
)
"""Part of the time that plain access still takes; ``float(...)`` and the like that a converted config may
still need are allowed for."""

FAILED_LOOKUP: Final = calibrated(
    Range(0.05, 0.12),
    unit="times the time inside omegaconf",
    source="Python 3.11, omegaconf 2.4: 1.4 µs beside 15.5",
    date="2026-11-21",
)
"""Time that goes too, for reads by attribute: ``cfg.a`` first fails as an ordinary attribute, in C and on
the reading line itself. ``cfg["a"]`` is found at once."""

PART_OF_A_LINE: Final = Range(0.3, 0.9)
"""Part of a line's own time that such reads may be: below, the line has other work to be named
for; above, they are never more."""

SET_UP: Final = frozenset(
    {
        "create",
        "load",
        "save",
        "merge",
        "unsafe_merge",
        "structured",
        "to_container",
        "to_object",
        "to_yaml",
        "from_cli",
        "from_dotlist",
        "register_new_resolver",
        "register_resolver",
        "resolve",
        "__deepcopy__",
        "copy",
        "__init__",
        "__getstate__",
        "__setstate__",
        "__reduce_ex__",
        "instantiate",
    }
)
"""Functions that belong to set-up: once for each run they are no concern."""

_READ_ONCE: Final = (
    "Read the values once, before the loop, into plain variables, a dataclass or a dict "
    "(OmegaConf.to_container(cfg, resolve=True)), and use those in the loop."
)
_MAKE_ONCE: Final = (
    "Instantiate it once, before the loop, and keep it. Where each turn needs a new one, instantiate it once with "
    "_partial_=True, and call what that gives."
)

EVIDENCE_LINES: Final = 3
LEAST_NAMED: Final = 0.01
"""Part of the accesses from which on an entry is named."""

_PACKAGE: Final = re.compile(
    r"(^|[/\\])omegaconf[/\\](base|basecontainer|dictconfig|errors|grammar_parser|grammar_visitor"
    r"|listconfig|nodes|omegaconf|resolvers|_impl|_utils|__init__|(grammar|resolvers)[/\\].*)\.py$"
)
_HYDRA: Final = re.compile(r"[/\\]hydra[/\\]_internal[/\\]instantiate[/\\]")
_CALLS_TARGETS: Final = "_call_target"
"""Its function that calls what a config names, whose time is none of Hydra's."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    lines = UserLines.of(profile)
    counted = profile.throughput.unit != "none"
    nodes: set[int] = set()
    read_by_attribute: dict[int, int] = defaultdict(int)
    weights: dict[Line, float] = defaultdict(float)
    accesses: dict[str, float] = defaultdict(float)
    made: dict[Line, float] = defaultdict(float)
    for entry, own in _instantiations(tree).items():
        owner = lines.owner(entry)
        if owner == NO_PARENT or not _in_loop(lines, entry, owner, counted=counted):
            continue
        wall = tree.cost_of(own).wall_us
        nodes |= own
        weights[lines.line(owner)] += wall
        made[lines.line(owner)] += wall
        accesses["hydra's instantiate"] += wall
    for entry in tree.topmost(_is_omegaconf):
        owner = lines.owner(entry)
        if entry in nodes:
            continue
        if owner == NO_PARENT or not _in_loop(lines, entry, owner, counted=counted):
            continue
        wall = tree.total_cost(entry).wall_us
        nodes.update(tree.subtree(entry))
        weights[lines.line(owner)] += wall
        accesses[_access(tree.frame(entry))] += wall
        by_attribute = last_name(tree.frame(entry).function) == "__getattr__"
        if by_attribute and tree.nodes[entry].parent == owner:
            read_by_attribute[owner] += wall
    whole = profile.critical.wall_us
    total = sum(weights.values())
    if not whole or total / whole < MIN_SHARE:
        return
    locations = lines.locations(weights, whole)
    heaviest = heaviest_line(weights)
    makes = heaviest in made
    yield Finding(
        title=_title(heaviest, lines, len(weights), makes=makes),
        savings=(
            Saving(frozenset(nodes), Range(1 - PLAIN_ACCESS_LEFT, 1.0)),
            *_failed_lookups(tree, read_by_attribute),
        ),
        locations=locations,
        evidence=(
            f"{percent(total / whole)} of the steady time is inside {'hydra and ' if made else ''}omegaconf, called from "
            f"{_count_lines(len(weights))} of yours",
            "entered by " + _heaviest(accesses, total),
        ),
        fix=_MAKE_ONCE if makes else _READ_ONCE + _of_written(_written(profile, lines, weights)),
        confidence=Confidence.MEASURED if profile.sources else Confidence.BOUNDED,
    )


def _instantiations(tree: CallTree) -> Mapping[int, set[int]]:
    """Return the topmost calls of Hydra that make what a config names, each with the nodes of Hydra's own work for it: what it
    calls to make it may have to be done.
    """
    begun: dict[int, int] = {}
    own: dict[int, set[int]] = {}
    for node in tree.hot_nodes():
        parent, frame = tree.nodes[node].parent, tree.frame(node)
        if parent in begun and _is_for_hydra(frame, tree.frame(parent)):
            begun[node] = begun[parent]
        elif parent not in begun and _is_hydra(frame):
            begun[node] = node
        # What is called may be written in C, and have no frame of its own.
        if node in begun and last_name(frame.function) != _CALLS_TARGETS:
            own.setdefault(begun[node], set()).add(node)
    return own


def _is_hydra(frame: Frame) -> bool:
    return _HYDRA.search(frame.file) is not None and origin(frame) is Origin.LIBRARY


def _is_for_hydra(frame: Frame, caller: Frame) -> bool:
    """Tell whether what Hydra calls is a part of its own work: not what a config names, nor methods of what is in it."""
    if _is_omegaconf(frame) or installed_package(frame.file) == "hydra":
        return True
    return origin(frame) is Origin.STDLIB and last_name(caller.function) != _CALLS_TARGETS


def _failed_lookups(tree: CallTree, inside_us: dict[int, int]) -> Iterable[Saving]:
    """Yield the part of each reading line's own time that its reads by attribute take."""
    for node, us in sorted(inside_us.items()):
        own_us = tree.self_cost(node).wall_us
        if own_us and FAILED_LOOKUP.high * us / own_us >= PART_OF_A_LINE.low:
            low, high = (min(PART_OF_A_LINE.high, part * us / own_us) for part in FAILED_LOOKUP)
            yield Saving(frozenset({node}), Range(low, high))


def _is_omegaconf(frame: Frame) -> bool:
    if "omegaconf" not in frame.file:
        return False
    installed = origin(frame) is Origin.LIBRARY and re.search(r"[/\\]omegaconf[/\\]", frame.file)
    return bool(installed or _PACKAGE.search(frame.file))


def _in_loop(lines: UserLines, entry: int, owner: int, *, counted: bool) -> bool:
    """Tell whether the access is made again and again, as far as can be known.

    What the steady phase of counted steps spends in reading nodes is spent by the steps, wherever
    the loop is; without steps the loop has to be seen. Set-up calls count in a loop of the user's
    alone: a pool or a framework calls a whole run, which may set up once.
    """
    if last_name(lines.tree.frame(entry).function) in SET_UP:
        return lines.is_in_loop(owner)
    return counted or lines.is_repeated(owner) or not lines.has_source(owner)


def _access(frame: Frame) -> str:
    """``DictConfig.__getattr__``, also where only the plain name is known."""
    return frame.function if "." in frame.function else f"omegaconf's {frame.function}"


def _heaviest(accesses: dict[str, float], total: float) -> str:
    ranked = sorted(accesses.items(), key=lambda item: (-item[1], item[0]))[:EVIDENCE_LINES]
    return ", ".join(
        f"{name} ({percent(us / total)})" for name, us in ranked if us >= LEAST_NAMED * total
    )


def _title(heaviest: Line, lines: UserLines, count: int, *, makes: bool) -> str:
    what = _config_read(lines.text(heaviest)) or short_place(heaviest)
    how = "instantiated by Hydra" if makes else "read through OmegaConf"
    if count == 1:
        return f"{what} is {how} in the loop"
    return f"{what} and {_count_lines(count - 1, more=True)} {how} in the loop"


def _count_lines(count: int, *, more: bool = False) -> str:
    return f"{count} {'more ' if more else ''}line{'s' if count > 1 else ''}"


_READ: Final = re.compile(
    r"(?:\bself\.)?\b(?!OmegaConf\b)\w*(?:cfg|conf|config|hparams|params|args|opt|settings)\w*"
    r"(?:\.(?!get\b)\w+|\[[\"']?\w+[\"']?\]|\.get\([\"']\w+[\"']\))+",
    re.IGNORECASE,
)


def _config_read(text: str) -> str:
    """The expression that reads the config, when the line shows one by its usual names."""
    found = _READ.search(text)
    return found.group() if found else ""


def _written(profile: Profile, lines: UserLines, weights: Mapping[Line, float]) -> str:
    """Return an entry of the config that the program gives another value, of those that its lines read; empty where there is none."""
    modules = filter(None, map(lines.module, profile.sources))
    written = {
        _ending(entry)
        for module in modules
        for entry in _entries(module.tree)
        if not isinstance(entry.ctx, ast.Load)
    }
    for line in sorted(weights, key=lambda line: (-weights[line], line)):
        module = lines.module(line.file)
        for statement in module.statements_at(line.line) if module else ():
            for entry in _entries(*statement.expressions()):
                if _ending(entry) in written:
                    return ast.unparse(entry)
    return ""


def _entries(*parts: ast.AST) -> Iterator[ast.Attribute]:
    for node in nodes_in(*parts):
        if isinstance(node, ast.Attribute) and _READ.fullmatch(ast.unparse(node)):
            yield node


def _ending(entry: ast.Attribute) -> str:
    """The last two names, since ``cfg`` and ``self.cfg`` may be one."""
    return ".".join(ast.unparse(entry).split(".")[-2:])


def _of_written(entry: str) -> str:
    if not entry:
        return ""
    return f" {entry} is written, too: what changes while it runs belongs in a plain variable or a dataclass, written and read there instead."


DETECTOR: Final = Detector(
    id="omegaconf-in-loop",
    name="config read through OmegaConf in the hot loop",
    in_samples=InSamples(detect),
)
