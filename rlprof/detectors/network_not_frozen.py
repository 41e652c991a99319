"""Networks that are given gradients, though nothing trains them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Final

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import calls_time
from rlprof.detectors.recognisers.recorded_graphs import (
    GRAPH_REMOVABLE,
    RecordedGraphs,
    asks_network,
    computes_gradients,
)
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import short_place
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.module import Statement
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Of the critical time, in the network's calls: what goes with them of the backward pass is about twice that."""

BACKWARD_REMOVABLE: Final = calibrated(
    Range(0.5, 1.0),
    unit="times the network's part of the calls",
    source="of layers without gradients of their input, as those of such a network, half of the backward pass is left out "
    "already; a random network of four layers beside the one that learns from it: 0.23 of the time saved, 0.10 to 0.30 told",
    date="2026-11-23",
)
"""Part of the backward passes that goes."""


def detect(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    search = _Search(profile)
    time = calls_time(
        tree, ((node, search.graphs.lines.line(owner)) for node, owner in search.calls())
    )
    if not whole or time.total_us < MIN_SHARE * whole:
        return
    asked_us = sum(
        tree.total_cost(it).wall_us for it in search.graphs.calls() if search.records(it)
    )
    part = min(1.0, time.total_us / asked_us)
    backward = frozenset(
        node for top in tree.topmost(computes_gradients) for node in tree.subtree(top)
    )
    removable = Range(BACKWARD_REMOVABLE.low * part, BACKWARD_REMOVABLE.high * part)
    savings = (Saving(time.nodes, GRAPH_REMOVABLE), Saving(backward, removable))
    yield Finding(
        title=f"gradients are computed for a network that nothing trains ({short_place(time.heaviest)})",
        savings=tuple(it for it in savings if it.nodes),
        locations=search.graphs.lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(time.total_us / whole)} of the steady time is spent in its calls"
            + of_each_step(time.total_us, profile.steady_steps),
            f"it is {percent(part)} of what networks take that gradients go through",
            "its parameters are given gradients, and no optimizer moves them",
        ),
        fix="Say that it is not trained, network.requires_grad_(False), or call it under torch.no_grad(): its part of "
        "the backward pass goes, too.",
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
        for node in self._tree.hot_nodes() if self._values else ():
            if self._tree.nodes[node].parent in inside:
                inside.add(node)
            elif asks_network(self._tree.frame(node)):
                owner = self.graphs.lines.owner(node)
                if owner != NO_PARENT and self._asks_untrained(owner) and self.records(node):
                    inside.add(node)
                    yield node, owner

    def records(self, node: int) -> bool:
        """Whether gradients are on there."""
        return not any(map(self.graphs.may_be_off, self._tree.ancestors(node)))

    def _asks_untrained(self, owner: int) -> bool:
        frame = self._tree.frame(owner)
        if frame not in self._known:
            self._known[frame] = self._are_untrained(frame)
        return self._known[frame]

    def _are_untrained(self, frame: Frame) -> bool:
        """Whether all networks that the line calls are."""
        module = self.graphs.lines.module(frame.file) if self._values.has(frame.file) else None
        networks = [
            value
            for statement in (module.statements_at(frame.line) if module else ())
            for value in _networks(statement, self._values.of(frame.file, statement))
        ]
        return bool(networks) and all(it.is_untrained for it in networks)


def _networks(statement: Statement, known: Mapping[str, Value]) -> Iterable[Value]:
    """Yield those that a statement calls."""
    for node in statement.walk():
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr == "forward":
                called = called.value
            value = value_of(called, known)
            if value is not None and value.is_network:
                yield value


DETECTOR: Final = Detector(
    id="network-not-frozen",
    name="networks that are given gradients, though nothing trains them",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
