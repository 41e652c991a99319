"""Parts of training, told from the stacks.

The nearest frame that is known decides, from the leaf up: a library by its path
(``rlprof/libraries/``), an environment of the user's by how it is used, other functions of the user's by their names and classes. A
function that calls the environment is the training loop itself, and no part, whatever its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rlprof.libraries.known import files_of
from rlprof.libraries.questions import is_policy_file, is_pool, transport_of
from rlprof.model.recording import NO_PARENT, Frame, Node
from rlprof.profile.updates import find_updates
from rlprof.source.lines import begins_process
from rlprof.syntax.module import parse
from rlprof.syntax.origin import Origin, origin_of_file
from rlprof.syntax.steps import step_calls

ENVIRONMENT: Final = "environment"
INFERENCE: Final = "inference"
LEARNING: Final = "learning"
TRANSFER: Final = "transfer"
LOGGING: Final = "logging"
CONFIGURATION: Final = "configuration"
DATA: Final = "data preparation"
OTHER: Final = "other"

_FILES: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    (LOGGING, files_of(lambda library: library.logging)),
    (CONFIGURATION, files_of(lambda library: library.configuration)),
    (DATA, files_of(lambda library: library.data)),
    (LEARNING, files_of(lambda library: library.learner)),
    (TRANSFER, files_of(lambda library: library.transfer)),
    (ENVIRONMENT, files_of(lambda library: library.environment)),
)

_makes_gradients: Final = files_of(lambda library: library.gradients)

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
_CONSTRUCTS: Final = ("<module>", "__init__")
_LOGGING_NAME: Final = re.compile(
    r"^_?log(_\w+)?$|^(write|record)_(metrics?|summary|scalars?|logs?)$"
)
_TRANSFER_NAME: Final = re.compile(
    r"^_?(publish|broadcast|sync|send|push|pull)_?(weights|params|parameters|model|policy|state)\w*$"
)


def classify_components(
    nodes: Sequence[Node], sources: Mapping[str, str], time_us: Sequence[int]
) -> list[str]:
    """The component that a node's busy time belongs to, by node id; ``time_us`` is how much time each has of its own, asleep or not.

    A forward pass within an update is learning, whatever the network's function is called: the lines of an update are
    told by what its gradients are of (``profile/updates.py``), where there is no source by the caller's name.
    """
    stepped = _stepped(nodes, sources)
    own = [ENVIRONMENT if node.id in stepped else _component(node.frame, sources) for node in nodes]
    loops = _around_the_environment(nodes, own)
    handed = _handed_over(nodes)
    updates = find_updates(
        nodes,
        sources,
        gradients=_at_work(nodes, lambda node: _makes_gradients(node.frame.file)),
        networks=_at_work(
            nodes, lambda node: own[node.id] == INFERENCE or is_policy_file(node.frame.file)
        ),
        environment=[node.id for node in nodes if own[node.id] == ENVIRONMENT],
        messages=[node.id for node in nodes if transport_of(node.frame)],
        handed_over=handed,
        time_us=time_us,
    )
    found: list[str] = []
    learns: list[bool] = []
    """True if a network that is asked below is asked for gradients."""
    for number, parent, frame in nodes:
        above = found[parent] if parent != NO_PARENT else OTHER
        name = own[number]
        key = (frame.file, frame.function)
        line = (frame.file, frame.line)
        asked = parent != NO_PARENT and learns[parent]
        at_line = LEARNING if line in updates.learns else DATA * (line in updates.makes_ready)
        if at_line:
            asked = at_line == LEARNING
        elif line in updates.acts or (key in loops and key not in updates.functions):
            asked = False  # ``update(collect(envs))``: the line is the update's, this part of it is not.
        elif key in updates.whole or (
            name == LEARNING and key not in loops and key not in updates.functions
        ):
            asked = True
        if begins_process(frame):
            # Whatever the function is called that forked it.
            above, asked = OTHER, False
        learns.append(asked and name != ENVIRONMENT)
        if name == ENVIRONMENT:
            found.append(name)
        elif number in handed:
            found.append(TRANSFER)
        elif at_line:
            found.append(at_line)
        elif is_policy_file(frame.file) or name == INFERENCE:
            if asked:
                found.append(LEARNING)
            elif name == INFERENCE and key not in loops:
                found.append(INFERENCE)
            else:
                found.append(above if above in (INFERENCE, ENVIRONMENT) else INFERENCE)
        elif name == DATA and above == ENVIRONMENT and origin_of_file(frame.file) is Origin.YOURS:
            found.append(above)  # What it draws is a state of its own.
        elif name and key not in loops and line not in updates.acts:
            found.append(name)
        else:
            found.append(OTHER if key in loops or line in updates.acts else above)
    return found


def _handed_over(nodes: Sequence[Node]) -> frozenset[int]:
    """Nodes of the standard library in which the user's code gives a pool tasks, or waits for results."""
    found: set[int] = set()
    is_called: list[bool] = []
    """True below code that is not Python's own, in the same process or thread."""
    for number, parent, frame in nodes:
        is_own = origin_of_file(frame.file) not in (Origin.STDLIB, Origin.RUNTIME)
        # The stack of a forked worker goes on from that of who made the pool: what it does there is the task's.
        above = parent != NO_PARENT and is_called[parent] and not begins_process(frame)
        is_called.append(is_own or above)
        if not is_own and above and (parent in found or is_pool(frame.file)):
            found.add(number)
    return frozenset(found)


def _at_work(nodes: Sequence[Node], is_of_kind: Callable[[Node], bool]) -> list[int]:
    """Return nodes of a kind, without those that import or construct one: the first optimizer imports for seconds."""
    found: list[int] = []
    constructs: list[bool] = []
    for node in nodes:
        is_own = is_of_kind(node)
        inside = node.parent != NO_PARENT and constructs[node.parent]
        constructs.append(inside or (is_own and node.frame.function.endswith(_CONSTRUCTS)))
        if is_own and not constructs[-1]:
            found.append(node.id)
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


def _stepped(nodes: Sequence[Node], sources: Mapping[str, str]) -> frozenset[int]:
    """Nodes of the user's methods that are called as an environment's step is, whatever their names."""
    found: set[int] = set()
    methods: dict[tuple[str, int], frozenset[str]] = {}
    for number, parent, frame in nodes:
        # First: what imports torch is a hundred of its files, which take seconds to read.
        if parent == NO_PARENT or origin_of_file(frame.file) is not Origin.YOURS:
            continue
        caller = nodes[parent].frame
        if caller.file not in sources:
            continue
        line = (caller.file, caller.line)
        if line not in methods:
            module = parse(sources[caller.file])
            calls = step_calls(module, caller.line) if module else ()
            methods[line] = frozenset(call.method for call in calls if caller.line in call.lines)
        if _name(frame) in methods[line]:
            found.add(number)
    return frozenset(found)


def _name(frame: Frame) -> str:
    return frame.function.rpartition(".")[2]


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
        _ENVIRONMENT_CLASS.search(owner)
        or _ENVIRONMENT_FILE.search(frame.file)
        or _is_stepped_and_reset(frame, sources)
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


def _is_stepped_and_reset(frame: Frame, sources: Mapping[str, str]) -> bool:
    """Tell whether the class has both methods: an optimizer or a scheduler has the one, a metric the other."""
    module = parse(sources[frame.file]) if frame.file in sources else None
    name = _class_at(frame, sources)
    if module is None or not name:
        return False
    methods = {method.node.name for method in module.functions if method.class_name == name}
    return methods >= {"step", "reset"}


def _class_at(frame: Frame, sources: Mapping[str, str]) -> str:
    """Before Python 3.11 frames do not name the class; the source does."""
    module = parse(sources[frame.file]) if frame.file in sources else None
    function = module.function_at(frame.line) if module else None
    return function.class_name if function else ""
