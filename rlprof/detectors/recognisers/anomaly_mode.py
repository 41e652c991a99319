"""Autograd's anomaly mode in the steady phase of a run: stacks recorded for ops, gradients checked for NaN."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from rlprof.detectors.recognisers.line_time import LineTime, calls_time
from rlprof.detectors.recognisers.recorded_graphs import computes_gradients
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.anomaly import Switch, anomaly_switches
from rlprof.source.lines import Line, UserLines, last_name

STACKS: Final = Range(0.97, 1.0)
"""Part of the time in stacks that goes with the mode: without it none is recorded."""

CHECKED_SMALL: Final = calibrated(
    Range(0.25, 0.65),
    unit="part of the backward pass",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of 2 layers of 32 to 256, batches of 32 to 256, "
    "0.53 to 0.76 is left; of a GRU over 16 steps 0.36 (by hand)",
    date="2026-11-25",
)
"""Part that checks for NaN take of a backward pass that takes no longer than the stacks of the forward pass."""

CHECKED_LARGE: Final = calibrated(
    Range(0.07, 0.65),
    unit="part of the backward pass",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of 3 layers of 1 024 0.66 to 0.92 is left, of "
    "convolutions and 32 pictures 0.77; by hand: of 3 layers of 2 048, of 128 pictures up to 0.92, of 2 layers of 64 and a batch of 8 192 0.56",
    date="2026-11-25",
)
"""The same of longer ones: products of large matrices take longer than to look at them."""

CHECKED_ON_GPU: Final = Range(0.0, 0.95)
"""The same on a GPU: each check waits for all that was launched before it."""

LEAST_GPU_USE: Final = 0.01
"""Use of a GPU, below which the training is not on it."""

_FORMATS: Final = re.compile(r"[/\\]torch[/\\]fx[/\\]traceback\.py$")

_COMPILES: Final = re.compile(
    r"[/\\]torch[/\\](_functorch|_dynamo|_inductor|_export|export|fx)[/\\](?!eval_frame)"
)
"""Torch's compilers, which record stacks of what they trace in any case."""


class AnomalyMode:
    """Time that it takes, and the lines that switch it on."""

    def __init__(self, profile: Profile) -> None:
        self._tree = profile.steady
        self._gpu_use = max(
            (1.0 if gpu.utilisation is None else gpu.utilisation for gpu in profile.gpus),
            default=0.0,
        )
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self.switches = self._switches_in(profile)
        self.stacks = self._recorded_stacks()
        self.backward_us = 0.0
        """Of the passes that check for NaN, or may do so."""
        self.backward: dict[Range, set[int]] = defaultdict(set)
        """Their nodes, by the part that checks take."""
        self._look_at_backward()

    @property
    def least_us(self) -> float:
        """Time (µs) that the mode takes at least."""
        checks_us = sum(
            part.low * self._tree.self_cost(node).wall_us
            for part, nodes in self.backward.items()
            for node in nodes
        )
        return self.stacks.total_us + checks_us

    @property
    def is_on_gpu(self) -> bool:
        return self._gpu_use >= LEAST_GPU_USE

    def stacks_removable(self, whole_us: float) -> Range:
        """Return the part of their time that the mode's end saves.

        While a GPU works on what was launched before, the host may record stacks for nothing.
        """
        if not self.is_on_gpu:
            return STACKS
        seen = 1 - self._gpu_use * whole_us / self.stacks.total_us
        return Range(STACKS.low * max(0.0, seen), STACKS.high)

    def _recorded_stacks(self) -> LineTime:
        """The time of ``format_stack``, which torch calls for each op that records a gradient, in this mode alone."""
        tops = self._tree.topmost(_formats_stack)
        owners = ((top, self.lines.owner(top)) for top in tops if not self._is_compiled(top))
        return calls_time(
            self._tree,
            ((top, self.lines.line(owner)) for top, owner in owners if owner != NO_PARENT),
        )

    def _is_compiled(self, node: int) -> bool:
        above = self._tree.nodes[node].parent
        return above != NO_PARENT and any(
            _COMPILES.search(self._tree.frame(ancestor).file)
            for ancestor in self._tree.ancestors(above)
        )

    def _look_at_backward(self) -> None:
        """Take in the backward passes. The engine is written in C++: its time is that of the frame that calls it."""
        nodes = [
            part for part in self._tree.hot_nodes() if computes_gradients(self._tree.frame(part))
        ]
        if self.switches and not any(switch.checks for switch in self.switches.values()):
            return
        self.backward_us = sum(self._tree.self_cost(each).wall_us for each in nodes)
        if self.is_on_gpu:
            checked = CHECKED_ON_GPU
        elif self.backward_us <= self.stacks.total_us:
            checked = CHECKED_SMALL
        else:
            checked = CHECKED_LARGE
        for node in nodes:
            low = checked.low if self._is_switched_on(node) else 0.0
            self.backward[Range(low, checked.high)].add(node)

    def _is_switched_on(self, node: int) -> bool:
        """Tell whether the source shows that the mode is on at ``node``, with its checks."""
        above = [self._tree.frame(ancestor) for ancestor in self._tree.ancestors(node)]
        return any(
            switch.is_sure
            and switch.checks
            and (
                switch.covers is None
                or any(frame.file == line.file and frame.line in switch.covers for frame in above)
            )
            for line, switch in self.switches.items()
        )

    def _switches_in(self, profile: Profile) -> dict[Line, Switch]:
        found = {}
        for file, text in sorted(profile.sources.items()):
            if not self.lines.is_yours(Frame(file, "", 1)):
                continue
            module = self.lines.module(file)
            for switch in anomaly_switches(text):
                function = module.function_at(switch.line) if module else None
                name = function.qualname if function else "<module>"
                found[Line(file, switch.line, name)] = switch
        return found


def _formats_stack(frame: Frame) -> bool:
    return last_name(frame.function) == "format_stack" and bool(_FORMATS.search(frame.file))
