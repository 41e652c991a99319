"""Lines by which a run hands a model's weights from one process to another, or loads them again at each step, and what that takes."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

from rlprof.detectors.recognisers.processes.transport import below, serves_queues
from rlprof.model.activity import Activity
from rlprof.model.calltree import CallTree
from rlprof.model.counters import UPDATES
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.syntax.imports import own_name
from rlprof.syntax.module import PARSED_FILES, Statement, called_name, parse
from rlprof.syntax.nodes import calls_in, names_in, nodes_in, targets_of

LOADS: Final = frozenset({"load_state_dict", "set_weights", "vector_to_parameters"})
"""Functions that write weights into a network."""

_STEPS: Final = frozenset({"step", "_step"})

MOST_CALLERS: Final = 3
"""Functions between the loop over steps and the line that loads, at most."""

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
    senders = {
        activity.process
        for activity in profile.activities
        if activity.is_main and _sends_mostly(activity, lines)
    }
    feeders = _feeders(profile.activities, senders)
    part = feeders.own_us / feeders.all_us if feeders.all_us else 0.0
    return Publishing(lines, frozenset(feeders.nodes), part, feeders.own_us, frozenset(senders))


def _sends_mostly(activity: Activity, lines: Mapping[str, frozenset[int]]) -> bool:
    """Tell whether most of the time that the thread puts into queues is for weights.

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
        tree = activity.tree
        inside = tree.subtrees(tree.topmost(serves_queues))
        us = tree.cost_of(inside).busy_us
        found.all_us += us
        if activity.process in senders:
            found.own_us += us
            found.nodes |= inside
    return found


_SENDS: Final = frozenset({"put", "put_nowait", "send", "send_bytes"})
_TAKES: Final = frozenset({"get", "get_nowait", "recv", "recv_bytes"})
_COPIES: Final = frozenset({"deepcopy", "get_weights", "parameters_to_vector"})
_GIVE_WEIGHTS: Final = frozenset(
    {"state_dict", "parameters", "named_parameters", "buffers", "get_weights"}
)
_SAVES: Final = frozenset({"save", "dump", "save_checkpoint", "save_model", "log_artifact"})
"""A checkpoint, which is no other process's."""

_MODEL: Final = re.compile(
    r"^(\w*_)?(model|net|network|policy|actor|critic|agent|learner)$", re.IGNORECASE
)
_WEIGHTS: Final = re.compile(
    r"^(\w*_)?(weights|params|parameters|state_dict|model_state|policy_state)$", re.IGNORECASE
)

_HINT: Final = re.compile(r"state_dict|deepcopy|weights|params|parameters|model_state|policy_state")


@lru_cache(maxsize=PARSED_FILES)
def publishing_lines(text: str) -> Mapping[int, str]:
    """Lines that copy, send, take or load weights: ``copy``, ``send``, ``take`` or ``load``.

    By function: what is sent has to be made of a ``state_dict`` there (or be named so), what is
    taken has to be loaded there. A target network that is copied in one statement is nobody else's.
    """
    # Most files know nothing of weights, and reading them all takes seconds.
    module = parse(text) if _HINT.search(text) else None
    lines: dict[int, str] = {}
    if module is None:
        return lines
    for statements in module.by_function():
        kinds = list(_kinds(statements))
        passes_on = any(kind in ("send", "take") for _, kind in kinds)
        for statement, kind in kinds:
            # Copies and loads alone are those of a target network or a checkpoint.
            if kind in ("send", "take") or passes_on or _names_it(statement):
                lines |= dict.fromkeys(statement.lines, kind)
    return lines


def _names_it(statement: Statement) -> bool:
    """Tell whether the function around it is there for passing weights on."""
    name = statement.function.node.name if statement.function else ""
    return bool(
        re.search(
            r"publish|broadcast|sync_?(weights|params|model|policy)|(push|pull|get)_weights", name
        )
    )


def _kinds(statements: list[Statement]) -> Iterator[tuple[Statement, str]]:
    weights = _weight_names(statements)
    loaded = _loaded_names(statements)
    for statement in statements:
        calls = list(statement.calls())
        names = {called_name(call) for call in calls}
        if names & _SAVES:
            continue
        if names & LOADS:
            if not ({"state_dict", "get_weights", "parameters"} & names):
                yield statement, "take" if names & _TAKES else "load"
        elif any(_sends(call, weights) for call in calls):
            yield statement, "send"
        elif names & _TAKES and set(_targets(statement)) & loaded:
            yield statement, "take"
        elif _copies(calls):
            yield statement, "copy"


def _weight_names(statements: list[Statement]) -> set[str]:
    """Variables made of a model's weights, in the order in which they are made."""
    names: set[str] = set()
    networks: set[str] = set()
    for statement in statements:
        calls = list(statement.calls())
        if _copies(calls) or _names_in(statement, networks) & names:
            names.update(_targets(statement))
        if any(map(_copies_a_network, calls)):
            networks.update(_targets(statement))
    return names


def _copies_a_network(call: ast.Call) -> bool:
    is_copy = called_name(call) == "deepcopy"
    return is_copy and not any(isinstance(argument, ast.Call) for argument in call.args)


def _loaded_names(statements: list[Statement]) -> set[str]:
    """Variables that are loaded into a model."""
    calls = (call for statement in statements for call in statement.calls())
    return names_in(*(given for call in calls if called_name(call) in LOADS for given in call.args))


def _copies(calls: list[ast.Call]) -> bool:
    return any(
        called_name(call) == "state_dict"
        or (called_name(call) in _COPIES and (not call.args or _is_model(call.args[0])))
        for call in calls
    )


def _sends(call: ast.Call, weights: set[str]) -> bool:
    if called_name(call) not in _SENDS:
        return False
    return any(
        (isinstance(node, ast.Name) and node.id in weights)
        or (isinstance(node, ast.Call) and _copies([node]))
        for node in nodes_in(*call.args)
    ) or any(_WEIGHTS.match(_carried_name(argument)) for argument in call.args)


def _carried_name(node: ast.expr) -> str:
    """``weights`` of ``weights``, ``self.weights`` and ``weights.copy()``; of a tuple nothing."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _carried_name(node.func.value)
    return own_name(node)


def _is_model(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return called_name(node) in ("parameters", "state_dict")
    return bool(_MODEL.match(_carried_name(node)))


def _targets(statement: Statement) -> Iterator[str]:
    yield from names_in(*targets_of(statement.node))


def _names_in(statement: Statement, networks: Collection[str]) -> set[str]:
    """Names that the value of an assignment reads; of ``networks`` not those that are asked: an answer is no weights."""
    value = getattr(statement.node, "value", None)
    if not isinstance(statement.node, ast.Assign | ast.AnnAssign) or value is None:
        return set()
    asked = {id(name) for call in calls_in(value) for name in _asked(call)}
    return {
        node.id
        for node in ast.walk(value)
        if isinstance(node, ast.Name) and not (node.id in networks and id(node) in asked)
    }


def _asked(call: ast.Call) -> Iterator[ast.Name]:
    """Yield ``net`` of ``net(x)`` and ``net.act(x)``, but not of ``net.state_dict()``."""
    match call.func:
        case ast.Name() as name:
            yield name
        case ast.Attribute(value=ast.Name() as name, attr=method) if method not in _GIVE_WEIGHTS:
            yield name


@dataclass(slots=True)
class PulledWeights:
    """The line of a loop over steps that loads them."""

    place: Line
    nodes: set[int] = field(default_factory=set)
    """All that the function does which loads them."""


def pulled_weights(profile: Profile, lines: UserLines) -> list[PulledWeights]:
    """Look for them in the steady phase, in processes that step no optimizer while another one does."""
    tree = profile.steady
    if not profile.counts.get(UPDATES):
        return []
    found: dict[Line, PulledWeights] = {}
    others = _nodes_of_those_who_do_not_train(profile)
    steps = {
        tree.frame(tree.nodes[node].parent)
        for node in tree.hot_nodes()
        if profile.parts
        and profile.parts[node] == ENVIRONMENT
        and last_name(tree.frame(node).function) in _STEPS
        and tree.nodes[node].parent != NO_PARENT
    }
    for node in tree.hot_nodes():
        if node not in others or not _loads(lines, node):
            continue
        puller = node
        callers = (above for above in tree.ancestors(node) if lines.is_yours(tree.frame(above)))
        for above in (node, *islice(callers, MOST_CALLERS)):
            frame = tree.frame(above)
            if any(statement.conditions for statement in lines.statements(frame)):
                break  # Not at each step: when an episode is over, or when there are new ones.
            module = lines.module(frame.file)
            loop = module.innermost_loop(frame.line) if module is not None else None
            if module is not None and loop is not None:
                own = (step for step in steps if step[:2] == frame[:2])
                if any(module.innermost_loop(step.line) is loop for step in own):
                    line = lines.line(above)
                    pulled = found.setdefault(line, PulledWeights(line))
                    pulled.nodes.update(_of_its_function(tree, puller, above))
                break
            puller = above
    return [*found.values()]


def _nodes_of_those_who_do_not_train(profile: Profile) -> set[int]:
    found: set[int] = set()
    for activity in profile.activities:
        counts = profile.process_counts.get(activity.process, {})
        if not counts.get(UPDATES):
            found.update(node for node, cost in activity.tree.self_costs() if cost.wall_us)
    return {above for node in found for above in (node, *profile.steady.ancestors(node))}


def _loads(lines: UserLines, node: int) -> bool:
    frame = lines.tree.frame(node)
    return lines.is_yours(frame) and any(
        called_name(call) in LOADS
        for statement in lines.statements(frame)
        for call in statement.calls()
    )


def _of_its_function(tree: CallTree, puller: int, loop: int) -> Iterator[int]:
    """Yield what the function that ``loop`` calls does, at all its lines: it takes the weights, and loads them."""
    if puller == loop:
        yield from tree.subtree(loop)
        return
    own = tree.frame(puller)
    for node in tree.children(tree.nodes[puller].parent):
        frame = tree.frame(node)
        if (frame.file, frame.function) == (own.file, own.function):
            yield from tree.subtree(node)
