"""Parts of training, told from the stacks.

The nearest frame that is known decides, from the leaf up: a library by its path
(``rlprof/libraries/``), a function of the user's by its name and class. A function that calls the environment is the training loop itself, and
no part, whatever its name. What is done around a call for gradients (``updates.py``) is learning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rlprof.libraries.known import files_of, functions_of
from rlprof.model.recording import NO_PARENT, Frame, Node
from rlprof.profile.updates import find_updates, lines_that_lead_to
from rlprof.syntax.module import parse
from rlprof.syntax.origin import Origin, origin_of_file

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

_is_network: Final = files_of(lambda library: library.policy)
"""Learning below a learner, and in an update; else inference."""

_transport: Final = functions_of(lambda library: library.transport)

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
    loops = lines_that_lead_to(nodes, [node.id for node in nodes if own[node.id] == ENVIRONMENT])
    messages = lines_that_lead_to(nodes, [node.id for node in nodes if _transport(node.frame)])
    updates = find_updates(nodes, sources, loops, messages)
    found: list[str] = []
    for number, parent, frame in nodes:
        above = found[parent] if parent != NO_PARENT else OTHER
        name = own[number]
        if updates[number]:
            above = LEARNING if above in (OTHER, INFERENCE) else above
            name = LEARNING if name == INFERENCE else name
        if name == ENVIRONMENT or (name and (frame.file, frame.function) not in loops):
            found.append(name)
        elif _is_network(frame.file):
            asked = LEARNING if updates[number] else INFERENCE
            found.append(above if above in (LEARNING, INFERENCE, ENVIRONMENT) else asked)
        elif (frame.file, frame.function) in loops:
            found.append(LEARNING if updates[number] else OTHER)
        else:
            found.append(above)
    return found


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
