"""Calls of torch's networks for which autograd records a graph, and the part of the backward pass that goes through them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines, file_name
from rlprof.source.updates import without_gradients
from rlprof.syntax.origin import Origin, installed_package, origin

BACKWARD_SPREAD: Final = 2.0
"""Factor by which two networks' ratios of backward to forward time may differ."""

GRAPH_REMOVABLE: Final = calibrated(
    Range(0.03, 0.3),
    unit="part of the network's calls",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of two layers of 64 or 256 and "
    "one to 16 observations 0.13 to 0.18, of 64 observations and layers of 256 0.03, of "
    "three convolutions and one picture 0.01 to 0.05. With an environment between the calls "
    "it is more: four layers with two thirds of the time saved 0.17 of it",
    date="2026-11-21",
)
"""Part that goes with their graph."""

_NO_GRAD: Final = re.compile(r"[/\\]torch[/\\]utils[/\\]_contextlib\.py$")
_SWITCHES: Final = re.compile(r"no_grad|inference_mode|set_grad_enabled")


class RecordedGraphs(SteadySearch):
    """The calls of networks for which gradients are on, as far as stacks and sources tell."""

    def calls(self) -> Iterator[int]:
        """Yield the nodes of calls of networks, but for those within others."""
        return self.tree.topmost(asks_network)

    def are_off(self, node: int) -> bool:
        """Tell whether ``node`` is torch's own frame that switches gradients off for what it calls."""
        return bool(_NO_GRAD.search(self.tree.frame(node).file))

    def may_be_off(self, node: int) -> bool:
        """Tell whether the code of ``node`` switches gradients off for what it calls, or may do so.

        A ``with`` leaves no frame of its own, so only the source can tell that there is none.
        """
        if self.are_off(node):
            return True
        frame = self.tree.frame(node)
        text = self.profile.sources.get(frame.file, "")
        if self.lines.is_yours(frame):
            return not text or frame.line in without_gradients(text)
        if origin(frame) is Origin.RUNTIME or installed_package(frame.file) == "torch":
            return False
        if origin(frame) is Origin.STDLIB and file_name(frame.file) != "contextlib.py":
            return False  # It knows nothing of torch; decorators made of generators are called from there.
        return not text or bool(_SWITCHES.search(text))


def asks_network(frame: Frame) -> bool:
    return duty_of(frame) is Duty.ASKS_NETWORK and installed_package(frame.file) == "torch"


def computes_gradients(frame: Frame) -> bool:
    return duty_of(frame) is Duty.COMPUTES_GRADIENTS and installed_package(frame.file) == "torch"


class BackwardPass(SteadySearch):
    """The backward pass of the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._graphs = RecordedGraphs(profile)

    def saving(self, forward: Sequence[Saving]) -> Saving | None:
        """Return what goes of it with ``forward``: as large a part, of what goes through those nodes.

        The forward passes of all networks whose gradients are recorded say how much that is; None where none are.
        """
        claimed = frozenset[int]().union(*(saving.nodes for saving in forward))
        recorded = frozenset(
            node
            for top in self.tree.topmost(asks_network)
            if not self._is_off(top)
            for node in self.tree.subtree(top)
        )
        own = self.tree.cost_of(claimed & recorded).wall_us
        others = self.tree.cost_of(recorded).wall_us - own
        tops = self.tree.topmost(computes_gradients)
        nodes = self.tree.subtrees(tops) - claimed
        if not own or not nodes:
            return None
        low = own / (own + BACKWARD_SPREAD * others)
        high = own / (own + others / BACKWARD_SPREAD)
        whole = max(1.0, self.tree.cost_of(claimed).wall_us)
        parts = [
            (self.tree.cost_of(saving.nodes).wall_us / whole, saving.removable)
            for saving in forward
        ]
        return Saving(
            nodes,
            Range(
                low * sum(part * removable.low for part, removable in parts),
                high * sum(part * removable.high for part, removable in parts),
            ),
        )

    def with_forward(self, forward: Sequence[Saving]) -> tuple[Saving, ...]:
        """Return ``forward``, and what goes of the backward pass with it."""
        backward = self.saving(forward)
        return tuple(forward) if backward is None else (*forward, backward)

    def _is_off(self, top: int) -> bool:
        """Tell whether the sources show that no gradients are recorded there."""
        for node in (top, *self.tree.ancestors(top)):
            frame = self.tree.frame(node)
            text = self.profile.sources.get(frame.file, "") if self.lines.is_yours(frame) else ""
            if self._graphs.are_off(node) or (text and frame.line in without_gradients(text)):
                return True
        return False
