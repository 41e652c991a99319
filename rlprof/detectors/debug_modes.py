"""Modes for finding errors that are still on: blocking launches, autograd's anomaly mode."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, InTrace
from rlprof.detectors.recognisers.line_time import LineTime, SteadySearch, calls_time
from rlprof.detectors.recognisers.networks.recorded_graphs import computes_gradients
from rlprof.device.blocking import is_launch
from rlprof.device.host import rows_around
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding
from rlprof.model.finding import Confidence, Finding, Location, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, last_name, short_place
from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.syntax.nodes import calls_in, given_by_name, is_off, lines_of
from rlprof.tracefile.regions import BACKWARD
from rlprof.units import count, duration, percent

_WITHIN: Final = "detect_anomaly"
"""Torch's context, on only within its ``with``; as a keyword it asks Lightning's Trainer to switch it on."""

_FOR_GOOD: Final = "set_detect_anomaly"
"""Switches it for all that follows, where it is no ``with``'s."""

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

MIN_SHARE: Final = 0.02
"""Least share of the critical time that anomaly mode takes: twice what a report lists."""

FEWEST_SAMPLES: Final = 4
"""Fewest samples in stacks recorded for ops: fewer may be of a moment in which the mode was on."""

LONG_KERNEL_US: Final = 20.0
"""Length of a kernel from which on it cannot end before its launch does, unless the launch waits."""

FEWEST_LAUNCHES: Final = 10
"""Fewest launches of such kernels, to tell a mode from chance."""

BLOCKING: Final = 0.9
"""Part of them that have ended before their launch has. None has in any ordinary trace seen."""

LAUNCH_US: Final = calibrated(
    5.0,
    unit="µs",
    source="traces of 24 programs: medians of 1.3 to 18, most of them of 4 to 9",
    date="2026-11-23",
)
"""Time of a launch that does not wait."""

FEWEST_CHECKS: Final = 10
CHECKED: Final = 0.5
"""Part of the backward's ops that look for NaN, in anomaly mode each."""

_EVALUATES: Final = BACKWARD + "evaluate_function: "


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    mode = AnomalyMode(profile)
    stacks = mode.stacks
    fewest_us = FEWEST_SAMPLES * profile.critical.sample_interval_us
    if not whole or stacks.total_us < max(1, fewest_us) or mode.least_us < MIN_SHARE * whole:
        return
    switch = next(iter(mode.switches), None)
    is_measured = bool(mode.switches) and mode.backward_us <= stacks.total_us and not mode.is_on_gpu
    share = min(1.0, (stacks.total_us + mode.backward_us) / whole)
    at_switch = (
        ()
        if switch is None
        else (Location(switch.file, switch.line, switch.function, share, mode.lines.text(switch)),)
    )
    yield Finding(
        title=f"autograd's anomaly detection is on ({short_place(switch or stacks.heaviest)})",
        savings=(
            Saving(stacks.nodes, mode.stacks_removable(whole)),
            *(Saving(frozenset(nodes), part) for part, nodes in mode.backward.items()),
        ),
        locations=(*at_switch, *stacks.locations),
        evidence=tuple(_evidence(mode, profile)),
        fix="Take set_detect_anomaly(True), or the with detect_anomaly(), out now that the NaN is found; to look for "
        "another, switch it on by an option.",
        confidence=Confidence.MEASURED if is_measured else Confidence.BOUNDED,
    )


def _evidence(mode: AnomalyMode, profile: Profile) -> Iterator[str]:
    whole = profile.critical.wall_us
    yield mode.stacks.share_spent(
        "in format_stack, which torch calls for each op only in this mode"
    )
    if mode.backward_us:
        yield (
            f"{percent(mode.backward_us / whole)} is spent in backward passes, whose gradients are checked for NaN: a part "
            "of it goes, too"
        )
    elif mode.switches:
        yield "check_nan=False: gradients are not checked"
    if not mode.switches:
        yield "no source that was read shows where it is switched on"


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    yield from _blocking_launches(view)
    yield from _anomaly_mode(view)


def _blocking_launches(view: TraceView) -> Iterator[DeviceFinding]:
    long = {
        kernel.args.correlation: kernel
        for kernel in view.trace.kernels
        if kernel.dur >= LONG_KERNEL_US
    }
    if len(long) < FEWEST_LAUNCHES:
        return
    launches = [call for call in view.trace.calls if is_launch(call)]
    theirs = [launch for launch in launches if launch.args.correlation in long]
    waited = sum(long[their.args.correlation].end <= their.end for their in theirs)
    if len(theirs) < FEWEST_LAUNCHES or waited < BLOCKING * len(theirs):
        return
    held = sum(max(0.0, launch.dur - LAUNCH_US) for launch in launches)
    yield DeviceFinding(
        title="every launch waits until its kernel has ended",
        saved_us=Range(0.0, min(held, view.wall.length * (1 - view.busy_share))),
        evidence=(
            f"{count(waited)} of {count(len(theirs))} launches last longer than their kernels; the host is held in "
            f"launches for {duration(held)}",
            "other findings describe a program without it: take it out first",
        ),
        fix="Unset CUDA_LAUNCH_BLOCKING (AMD: AMD_SERIALIZE_KERNEL, HIP_LAUNCH_BLOCKING).",
    )


def _anomaly_mode(view: TraceView) -> Iterator[DeviceFinding]:
    backward = sum(operator.name.startswith(_EVALUATES) for operator in view.trace.ops)
    checks = [operator for operator in view.trace.ops if operator.name == "aten::isnan"]
    least = max(FEWEST_CHECKS, CHECKED * backward)
    if not backward or len(checks) < least:
        return
    around = rows_around(view.trace.ops, checks)
    inside = sum(ops[0].name.startswith(_EVALUATES) for ops in around.values() if ops)
    if inside < least:
        return
    yield DeviceFinding(
        title="autograd looks for NaN after each op of the backward pass",
        saved_us=Range(0.0, 0.0),
        evidence=(
            f"{count(inside)} checks for {count(backward)} ops of the backward pass; "
            + ("each is read from the GPU, and " if view.trace.kernels else "")
            + "each op of the forward pass records its stack",
        ),
        fix="Turn torch.autograd.set_detect_anomaly(True) off when the NaN is found.",
        confidence=Confidence.SUSPECTED,
    )


class AnomalyMode(SteadySearch):
    """Time that it takes, and the lines that switch it on."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._gpu_use = max(
            (1.0 if gpu.utilisation is None else gpu.utilisation for gpu in profile.gpus),
            default=0.0,
        )
        self.switches = self._switches_in(profile)
        self.stacks = self._recorded_stacks(profile)
        self.backward_us = 0.0
        """Of the passes that check for NaN, or may do so."""
        self.backward: dict[Range, set[int]] = defaultdict(set)
        """Their nodes, by the part that checks take."""
        self._look_at_backward()

    @property
    def least_us(self) -> float:
        """Time (µs) that the mode takes at least."""
        checks_us = sum(
            part.low * self.tree.self_cost(node).wall_us
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

    def _recorded_stacks(self, profile: Profile) -> LineTime:
        """The time of ``format_stack``, which torch calls for each op that records a gradient, in this mode alone."""
        tops = self.tree.topmost(_formats_stack)
        owners = ((top, self.lines.owner(top)) for top in tops if not self._is_compiled(top))
        return calls_time(
            profile,
            self.lines,
            ((top, self.lines.line(owner)) for top, owner in owners if owner != NO_PARENT),
        )

    def _is_compiled(self, node: int) -> bool:
        above = self.tree.nodes[node].parent
        return above != NO_PARENT and any(
            _COMPILES.search(self.tree.frame(ancestor).file)
            for ancestor in self.tree.ancestors(above)
        )

    def _look_at_backward(self) -> None:
        """Take in the backward passes. The engine is written in C++: its time is that of the frame that calls it."""
        nodes = [
            part for part in self.tree.hot_nodes() if computes_gradients(self.tree.frame(part))
        ]
        if self.switches and not any(switch.checks for switch in self.switches.values()):
            return
        self.backward_us = self.tree.cost_of(nodes).wall_us
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
        above = [self.tree.frame(ancestor) for ancestor in self.tree.ancestors(node)]
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


class Switch(NamedTuple):
    line: int
    covers: range | None
    """Lines of the ``with`` that it is on for; None where it is on from there."""
    is_sure: bool
    """False where it depends on something, or is switched off elsewhere in the file: then it may be on now and then."""
    checks: bool
    """True if gradients are checked for NaN; ``check_nan=False`` leaves the stacks of the forward pass alone."""


@lru_cache(maxsize=PARSED_FILES)
def anomaly_switches(text: str) -> tuple[Switch, ...]:
    """Return those in ``text`` that switch it on, or may do so (``set_detect_anomaly(options.debug)``)."""
    module = parse(text) if _WITHIN in text else None
    if module is None:
        return ()
    blocks = {
        id(item.context_expr): lines_of(node)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        for item in node.items
    }
    calls = list(calls_in(module.tree))
    is_switched_off = any(
        called_name(call) == _FOR_GOOD and id(call) not in blocks and is_off(_mode(call))
        for call in calls
    )
    found = (_switch(call, blocks.get(id(call))) for call in calls)
    return tuple(
        switch._replace(
            is_sure=switch.is_sure and (switch.covers is not None or not is_switched_off)
        )
        for switch in found
        if switch is not None
    )


def _switch(call: ast.Call, block: range | None) -> Switch | None:
    """Return what ``call`` switches on, in the lines of the ``with`` that it is for, if any."""
    name, keywords = called_name(call), {keyword.arg: keyword.value for keyword in call.keywords}
    if name == _FOR_GOOD:
        mode, position = _mode(call), 1
    elif name == _WITHIN and block is not None:
        mode, position = ast.Constant(True), 0
    elif name != _WITHIN and _WITHIN in keywords:
        mode, position = keywords[_WITHIN], len(call.args)
    else:
        return None
    if mode is None or is_off(mode):
        return None
    checks = call.args[position] if len(call.args) > position else keywords.get("check_nan")
    is_sure = isinstance(mode, ast.Constant) and isinstance(checks, ast.Constant | None)
    return Switch(call.lineno, block, is_sure=is_sure, checks=not is_off(checks))


def _mode(call: ast.Call) -> ast.expr | None:
    return next(iter([*call.args[:1], *given_by_name(call, "mode")]), None)


DETECTOR: Final = Detector(
    id="debug-modes",
    name="modes for finding errors, left on",
    in_samples=InSamples(detect_in_samples),
    in_trace=InTrace(detect_in_trace),
)
