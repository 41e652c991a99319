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
from rlprof.detectors.recognisers.recorded_graphs import GRAPH_REMOVABLE, RecordedGraphs
from rlprof.device.host import call_sites, outermost
from rlprof.device.places import place
from rlprof.device.view import TraceView
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.model.trace import Row, Trace
from rlprof.source.gradients import switches_off_for_good
from rlprof.source.lines import Line, short_place
from rlprof.syntax.module import PARSED_FILES, called_name, parse
from rlprof.units import count, duration, of_each_step, percent

MIN_SHARE: Final = 0.05
"""Least share of the critical time, in the network's calls: a fifth of that, which is all there is to save, is what a
report lists."""

_FROZEN: Final = re.compile(r"requires_grad(_\(|\s*=\s*)False")

MIN_UNUSED: Final = 0.3
"""Part of the recorded ops that no backward pass uses. 0 to 2 % are usual: metrics."""

FEWEST_UNUSED: Final = 50

MOST_STRANGE: Final = 0.1
"""Part of the backward's ops whose forward is not in the trace: more are of a trace that was thinned out."""

RECORDING: Final = 0.2
"""Part of the host's time in such ops that recording a graph takes at most."""

_BACKWARD: Final = "autograd::engine::"


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    whole = profile.critical.wall_us
    if any(map(switches_off_for_good, profile.sources.values())):
        return
    search = _Search(profile)
    lines = ((entry, search.dropping_line(entry)) for entry in search.graphs.calls())
    time = calls_time(profile.steady, ((entry, line) for entry, line in lines if line is not None))
    if not whole or time.total_us < MIN_SHARE * whole:
        return
    each = of_each_step(time.total_us, profile.steady_steps)
    acts = time.heaviest in search.acting
    yield Finding(
        title=f"gradients are recorded {'while acting' if acts else 'and never used'} "
        f"({short_place(time.heaviest)})",
        savings=(Saving(time.nodes, GRAPH_REMOVABLE),),
        locations=search.graphs.lines.shown_locations(time.weights, whole),
        evidence=(
            f"{percent(time.total_us / whole)} of the steady time is spent in networks called from there{each}",
            "the source shows no torch.no_grad() or inference_mode() around the calls",
            "what they give is only read there (argmax, item, sample, detach): nothing can go back through it",
        ),
        fix="with torch.no_grad(): (or torch.inference_mode()) around "
        + ("the rollout, or as decorator of the function that acts." if acts else "these calls."),
        confidence=Confidence.MEASURED,
    )


class _Search:
    """Who called a network, and what for."""

    def __init__(self, profile: Profile) -> None:
        self.graphs = RecordedGraphs(profile)
        self.acting: set[Line] = set()
        """Those of the lines found that are in a rollout."""
        self._tree = profile.steady
        self._sources = profile.sources

    def dropping_line(self, entry: int) -> Line | None:
        """The line that drops the graph of the network's call at ``entry``; None where gradients are off, may be needed, or
        where the source does not tell.
        """
        lines = self.graphs.lines
        dropped = NO_PARENT
        acts = False
        for node in self._tree.ancestors(entry):
            frame = self._tree.frame(node)
            is_yours = lines.is_yours(frame)
            # What drives a rollout may mention for its own learning how gradients are switched off.
            if self.graphs.are_off(node) or (
                (is_yours or not acts) and self.graphs.may_be_off(node)
            ):
                return None
            if not is_yours:
                continue
            text = self._sources[frame.file]
            if _FROZEN.search(text):
                return None
            if dropped == NO_PARENT:
                use = graph_use(text, frame.line)
                if use is GraphUse.KEPT:
                    return None
                dropped = node if use is GraphUse.DROPPED else NO_PARENT
            acts = acts or (dropped != NO_PARENT and steps_environment(text, frame.line))
        if dropped == NO_PARENT:
            return None
        line = lines.line(dropped)
        if acts:
            self.acting.add(line)
        return line


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
"""Names of what else has a ``step``."""


def steps_environment(text: str, line: int) -> bool:
    """Tell whether the function that ``line`` is in, or the module's own level, calls an environment's ``step``."""
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
    return frozenset(
        it.function.qualname if it.function else ""
        for it in (module.statements if module else ())
        if any(isinstance(call, ast.Call) and _is_step(call) for call in it.walk())
    )


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
