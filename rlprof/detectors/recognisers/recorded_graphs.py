"""Calls of torch's networks for which autograd records a graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.gradients import without_gradients
from rlprof.source.lines import UserLines, file_name
from rlprof.syntax.origin import Origin, installed_package, origin

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


class RecordedGraphs:
    """Where gradients are on, as far as stacks and sources tell."""

    def __init__(self, profile: Profile) -> None:
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self._tree = profile.steady
        self._sources = profile.sources

    def calls(self) -> Iterator[int]:
        """Yield the nodes of calls of networks, but for those within others."""
        return self._tree.topmost(asks_network)

    def are_off(self, node: int) -> bool:
        """Tell whether ``node`` is torch's own frame that switches gradients off for what it calls."""
        return bool(_NO_GRAD.search(self._tree.frame(node).file))

    def may_be_off(self, node: int) -> bool:
        """Tell whether the code of ``node`` switches gradients off for what it calls, or may do so.

        A ``with`` leaves no frame of its own, so only the source can tell that there is none.
        """
        if self.are_off(node):
            return True
        frame = self._tree.frame(node)
        text = self._sources.get(frame.file, "")
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
