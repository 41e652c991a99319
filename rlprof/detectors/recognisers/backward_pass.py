"""The part of torch's backward pass that goes through some calls of networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.detectors.recognisers.recorded_graphs import (
    RecordedGraphs,
    asks_network,
    computes_gradients,
)
from rlprof.model.finding import Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.gradients import without_gradients
from rlprof.source.lines import UserLines

BACKWARD_SPREAD: Final = 2.0
"""Factor by which two networks' ratios of backward to forward time may differ."""


class BackwardPass:
    """The backward pass of the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._tree = profile.steady
        self._sources = profile.sources
        self._lines = lines
        self._graphs = RecordedGraphs(profile)

    def saving(self, forward: Sequence[Saving]) -> Saving | None:
        """Return what goes of it with ``forward``: as large a part, of what goes through those nodes.

        The forward passes of all networks whose gradients are recorded say how much that is; None where none are.
        """
        claimed = frozenset[int]().union(*(saving.nodes for saving in forward))
        recorded = frozenset(
            node
            for top in self._tree.topmost(asks_network)
            if not self._is_off(top)
            for node in self._tree.subtree(top)
        )
        own = self._us(claimed & recorded)
        others = self._us(recorded) - own
        tops = self._tree.topmost(computes_gradients)
        nodes = frozenset(node for top in tops for node in self._tree.subtree(top)) - claimed
        if not own or not nodes:
            return None
        low = own / (own + BACKWARD_SPREAD * others)
        high = own / (own + others / BACKWARD_SPREAD)
        whole = max(1.0, self._us(claimed))
        parts = [(self._us(saving.nodes) / whole, saving.removable) for saving in forward]
        return Saving(
            nodes,
            Range(
                low * sum(part * removable.low for part, removable in parts),
                high * sum(part * removable.high for part, removable in parts),
            ),
        )

    def _is_off(self, top: int) -> bool:
        """Tell whether the sources show that no gradients are recorded there."""
        for node in (top, *self._tree.ancestors(top)):
            frame = self._tree.frame(node)
            text = self._sources.get(frame.file, "") if self._lines.is_yours(frame) else ""
            if self._graphs.are_off(node) or (text and frame.line in without_gradients(text)):
                return True
        return False

    def _us(self, nodes: frozenset[int]) -> float:
        return sum(self._tree.self_cost(node).wall_us for node in nodes)
