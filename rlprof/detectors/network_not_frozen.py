"""Networks that are given gradients, though nothing trains them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import calls_time
from rlprof.detectors.recognisers.networks.recorded_graphs import (
    GRAPH_REMOVABLE,
    RecordedGraphs,
    asks_network,
    computes_gradients,
)
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import last_name
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Statement
from rlprof.syntax.origin import Origin, origin_of_file
from rlprof.units import percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time, in the network's calls: what goes with them of the backward pass is about twice that."""

GRAPH: Final = Range(0.0, GRAPH_REMOVABLE.high)
"""Part of its calls that goes: none where a gradient has to pass through it to its input."""

BACKWARD: Final = Range(0.3, 1.0)
"""Part of the backward passes that goes, times its part of the calls. Of a layer the gradients of the weights take as long as those of the
input, and the latter stay where they are needed."""

LOOKS: Final = 2
"""That tell whether something changes; the second comes when the time of its line has doubled."""

LOOKS_IN_FORWARD: Final = 4
"""The same in a ``forward``, which several networks may share."""

_USES_GRADIENTS: Final = re.compile(
    r"\.grad\b|autograd\.grad|vector_to_parameters|\.data\b|\b(deepspeed|apex)\b"
    r"|\bregister_(hook|multi_grad_hook|post_accumulate_grad_hook|(module_)?(full_)?backward(_pre)?_hook)\b"
)
"""Ways to change a parameter that neither an optimizer nor torch's count of changes tells of, and hooks that are given gradients."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree = profile.steady
    search = _Search(profile)
    if any(
        origin_of_file(file) is Origin.YOURS and _USES_GRADIENTS.search(text)
        for file, text in profile.sources.items()
    ):
        return
    lines = search.graphs.lines
    calls = ((node, lines.line(owner)) for node, owner in search.calls())
    time = calls_time(profile, lines, calls)
    if not time.is_worth(MIN_SHARE):
        return
    asked_us = sum(
        tree.total_cost(call).wall_us for call in search.graphs.calls() if search.records(call)
    )
    part = min(1.0, time.total_us / asked_us)
    backward = tree.subtrees(tree.topmost(computes_gradients))
    savings = (Saving(time.nodes, GRAPH), Saving(backward, BACKWARD.scaled(part)))
    yield Finding(
        title=f"gradients are computed for a network that nothing trains ({time.place})",
        savings=tuple(saving for saving in savings if saving.nodes),
        locations=time.locations,
        evidence=(
            time.share_spent("in its calls"),
            f"it is {percent(part)} of what networks take that gradients go through",
            "its parameters are given gradients, and no optimizer moves them",
        ),
        fix="Say once that it is not trained: network.requires_grad_(False). Gradients still pass through it to its input "
        "where that needs them.",
        confidence=Confidence.BOUNDED,
    )


class _Search:
    """The calls of such networks."""

    def __init__(self, profile: Profile) -> None:
        self.graphs = RecordedGraphs(profile)
        self._tree = profile.steady
        self._values = Values(profile.values)
        self._known: dict[Frame, bool] = {}

    def calls(self) -> Iterable[tuple[int, int]]:
        """Yield the node of each, none within another, and that of the user's line which makes it."""
        inside: set[int] = set()
        for node in self._tree.hot_nodes():
            if self._tree.nodes[node].parent in inside:
                inside.add(node)
            elif asks_network(self._tree.frame(node)):
                owner = self.graphs.lines.owner(node)
                if owner != NO_PARENT and self._asks_untrained(owner) and self.records(node):
                    inside.add(node)
                    yield node, owner

    def records(self, node: int) -> bool:
        """Tell whether gradients are on there."""
        return not any(map(self.graphs.may_be_off, self._tree.ancestors(node)))

    def _asks_untrained(self, owner: int) -> bool:
        frame = self._tree.frame(owner)
        if frame not in self._known:
            self._known[frame] = self._are_untrained(frame)
        return self._known[frame]

    def _are_untrained(self, frame: Frame) -> bool:
        """Tell whether all networks that the line calls are."""
        module = self.graphs.lines.module(frame.file) if self._values.has(frame.file) else None
        fewest = LOOKS_IN_FORWARD if last_name(frame.function) == "forward" else LOOKS
        called = [
            value_of(expression, self._values.of(frame.file, statement))
            for statement in (module.statements_at(frame.line) if module else ())
            for expression in _called(statement)
        ]
        networks = [value for value in called if value is not None and value.is_network]
        # What nobody has seen, heads[i](x), may be a network that is trained.
        return (
            None not in called
            and bool(networks)
            and all(network.is_untrained(fewest) for network in networks)
        )


def _called(statement: Statement) -> Iterable[ast.expr]:
    """Yield what a statement calls that may be a network: variables, attributes, items of containers."""
    for node in statement.walk():
        match node:
            case ast.Call(func=ast.Attribute(value=network, attr="forward")):
                yield network
            case ast.Call(func=ast.Name() | ast.Subscript() | ast.Call() as called):
                yield called
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self")) as called):
                yield called


DETECTOR: Final = Detector(
    id="network-not-frozen",
    name="networks that are given gradients, though nothing trains them",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
