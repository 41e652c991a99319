"""Networks that record gradients where only their answer is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.graph_use import GraphUse, graph_use
from rlprof.detectors.recognisers.line_time import calls_time
from rlprof.device.host import call_sites, outermost
from rlprof.device.places import place
from rlprof.device.view import TraceView
from rlprof.libraries.base import Duty
from rlprof.libraries.known import functions_of
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.model.trace import Row, Trace
from rlprof.source.gradients import switches_off_for_good, without_gradients
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.syntax.origin import Origin, installed_package, origin
from rlprof.units import count, duration, of_each_step, percent

MIN_SHARE: Final = 0.05
"""Of the critical time, in the network's calls: a fifth of that, which is all there is to save, is what a
report lists."""

REMOVABLE: Final = calibrated(
    Range(0.03, 0.3),
    unit="part of the network's calls",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of two layers of 64 or 256 and "
    "one to 16 observations 0.13 to 0.18, of 64 observations and layers of 256 0.03, of "
    "three convolutions and one picture 0.01 to 0.05. With an environment between the calls "
    "it is more: four layers with two thirds of the time saved 0.17 of it",
    date="2026-11-21",
)
"""Part that goes with their graph."""

_duty: Final = functions_of(lambda library: library.duties)
_NO_GRAD: Final = re.compile(r"[/\\]torch[/\\]utils[/\\]_contextlib\.py$")
_FROZEN: Final = re.compile(r"requires_grad(_\(|\s*=\s*)False")
_SWITCHES: Final = re.compile(r"no_grad|inference_mode|set_grad_enabled")

MIN_UNUSED: Final = 0.3
"""Part of the recorded ops that no backward pass uses. 0 to 2 % are usual: metrics."""

FEWEST_UNUSED: Final = 50

MOST_STRANGE: Final = 0.1
"""Part of the backward's ops whose forward is not in the trace: more are of a trace that was thinned out."""

RECORDING: Final = 0.2
"""Of the host's time in such ops at most: what recording a graph takes."""

_BACKWARD: Final = "autograd::engine::"


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    if any(map(switches_off_for_good, profile.sources.values())):
        return
    search = _Search(profile)
    calls = tree.topmost(_is_network)
    lines = ((entry, search.acting_line(entry)) for entry in calls)
    time = calls_time(tree, ((entry, line) for entry, line in lines if line is not None))
    if not whole or time.total_us < MIN_SHARE * whole:
        return
    each = of_each_step(time.total_us, profile.steady_steps)
    yield Finding(
        title=f"gradients are recorded while acting ({short_place(time.heaviest)})",
        savings=(Saving(time.nodes, REMOVABLE),),
        locations=search.lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(time.total_us / whole)} of the steady time is spent in networks called from there{each}",
            "the source shows no torch.no_grad() or inference_mode() around the calls",
            "what they give is only read there (argmax, item, sample, detach): nothing can go back through it",
        ),
        fix="with torch.no_grad(): (or torch.inference_mode()) around the rollout, or as decorator of the "
        "function that acts.",
        confidence=Confidence.MEASURED,
    )


class _Search:
    """Who called a network, and what for."""

    def __init__(self, profile: Profile) -> None:
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self._tree = profile.steady
        self._sources = profile.sources

    def acting_line(self, entry: int) -> Line | None:
        """The line of a rollout that drops the graph of the network's call at ``entry``; None where
        gradients are off, may be needed, or where the source does not tell.
        """
        dropped = NO_PARENT
        acts = False
        for node in self._tree.ancestors(entry):
            frame = self._tree.frame(node)
            if _NO_GRAD.search(frame.file):
                return None
            if not self.lines.is_yours(frame):
                if not acts and self._may_switch_off(frame):
                    return None
                continue
            text = self._sources.get(frame.file, "")
            if not text or frame.line in without_gradients(text) or _FROZEN.search(text):
                return None
            if dropped == NO_PARENT:
                use = graph_use(text, frame.line)
                if use is GraphUse.KEPT:
                    return None
                dropped = node if use is GraphUse.DROPPED else NO_PARENT
            acts = acts or (dropped != NO_PARENT and steps_environment(text, frame.line))
        return self.lines.line(dropped) if acts else None

    def _may_switch_off(self, frame: Frame) -> bool:
        """Whether code that is neither the user's nor torch's may run what it calls without gradients.

        A ``with`` leaves no frame of its own, so only the source can tell that there is none.
        """
        if origin(frame) is Origin.RUNTIME or installed_package(frame.file) == "torch":
            return False
        text = self._sources.get(frame.file, "")
        return not text or bool(_SWITCHES.search(text))


def _is_network(frame: Frame) -> bool:
    return _duty(frame) is Duty.ASKS_NETWORK and installed_package(frame.file) == "torch"


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    used = {op.args.sequence for op in view.outermost_ops if op.name.startswith(_BACKWARD)} - {-1}
    if not used:
        return
    ops = [*_forward(view.trace)]
    forward = {op.args.sequence for op in ops} - {-1}
    if len(used - forward) > MOST_STRANGE * len(used):
        return
    unused = forward - used
    if len(unused) < max(FEWEST_UNUSED, MIN_UNUSED * len(forward)):
        return
    wasted = outermost(op for op in ops if op.args.sequence in unused)
    held = sum(op.dur for op in wasted)
    idle = view.idle_in((op.ts, op.end) for op in wasted)
    (site,) = call_sites(view.trace, wasted[:1])
    yield DeviceFinding(
        title="a graph is recorded for a backward pass that never comes",
        saved_us=Range(0.0, min(RECORDING * held, idle)),
        evidence=(
            f"{count(len(unused))} of {count(len(forward))} recorded ops, "
            f"{percent(len(unused) / len(forward))}, are used by no backward pass; calling them holds the host "
            f"for {duration(held)}",
        ),
        fix="with torch.inference_mode(): (or torch.no_grad()) around what collects or evaluates.",
        causes=(IdleCause.LAUNCH_BOUND,),
        places=(place(site, len(wasted), held),),
    )


def _forward(trace: Trace) -> Iterator[Row]:
    """Ops outside of backward passes; inside of them is what checkpointing does again."""
    around: dict[object, tuple[float, bool]] = {}
    for op in trace.ops:
        end, is_backward = around.get(op.thread, (op.ts, False))
        if op.ts >= end:
            is_backward = op.name.startswith(_BACKWARD)
            around[op.thread] = (op.end, is_backward)
        if not is_backward:
            yield op


# --- functions of a source file that step an environment ------------------------------------


_NO_ENVIRONMENT: Final = re.compile(
    r"optim|\bopt\b|_opt\b|sched|scaler|prof|accelerator|\bself$", re.I
)
"""What else has a ``step``."""


def steps_environment(text: str, line: int) -> bool:
    """Whether the function that ``line`` is in, or the module's own level, calls an environment's ``step``."""
    module = parse(text)
    statement = module.statement_at(line) if module else None
    if statement is None:
        return False
    name = statement.function.qualname if statement.function else ""
    return name in _stepping(text)


@lru_cache(maxsize=PARSED_FILES)
def _stepping(text: str) -> frozenset[str]:
    """The functions that do, by qualified name; the module's own level is ``""``."""
    module = parse(text) if ".step(" in text else None
    try:
        return frozenset(
            it.function.qualname if it.function else ""
            for it in (module.statements if module else ())
            if any(isinstance(call, ast.Call) and _is_step(call) for call in it.walk())
        )
    except RecursionError:
        return frozenset()  # An expression so deep is generated, not written.


def _is_step(call: ast.Call) -> bool:
    return (
        called_name(call) == "step"
        and isinstance(call.func, ast.Attribute)
        and bool(call.args)
        and not _NO_ENVIRONMENT.search(ast.unparse(call.func.value))
    )


DETECTOR: Final = Detector(
    id="grads-in-rollout",
    name="networks that record gradients where only their answer is used",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect_in_trace),
)
