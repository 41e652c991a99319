"""Weights that a process which does not train loads into its network again at each step of its environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from rlprof.model.calltree import CallTree
from rlprof.model.counters import UPDATES
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.profile.components import ENVIRONMENT
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.syntax.module import called_name

LOADS: Final = frozenset({"load_state_dict", "set_weights", "vector_to_parameters"})
"""Functions that write weights into a network."""

_STEPS: Final = frozenset({"step", "_step"})

MOST_CALLERS: Final = 3
"""Functions between the loop over steps and the line that loads, at most."""


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
