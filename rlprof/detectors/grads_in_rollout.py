"""Networks that record gradients where only their answer is used."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.line_time import calls_time
from rlprof.detectors.recognisers.networks.graph_asked import (
    GraphUse,
    differentiates,
    is_environment_step,
)
from rlprof.detectors.recognisers.networks.graph_use import GraphUses
from rlprof.detectors.recognisers.networks.recorded_graphs import (
    GRAPH_REMOVABLE,
    RecordedGraphs,
    asks_network,
)
from rlprof.device.host import call_sites, outermost
from rlprof.device.places import place
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.model.trace import Row, Trace
from rlprof.source.lines import Line, file_name, last_name
from rlprof.source.updates import switches_off_for_good
from rlprof.source.value import Value
from rlprof.syntax.module import PARSED_FILES, parse
from rlprof.syntax.origin import Origin, installed_package, origin
from rlprof.tracefile.regions import BACKWARD
from rlprof.units import count, duration, percent

MIN_SHARE: Final = 0.05
"""Least share of the critical time, in the network's calls: a fifth of that, which is all there is to save, is what a
report lists."""

_FROZEN: Final = re.compile(r"requires_grad(_\(|\s*=\s*)False")

_BESIDE: Final = re.compile(
    r"\bregister_(module_)?(forward|backward|full_backward)(_pre)?_hook\b|\bf_locals\b"
)
"""Ways to a part of a network's answer that no name leads to: hooks of its layers, names of a caller's."""

DRAWING_REMOVABLE: Final = calibrated(
    Range(0.0, 0.2),
    unit="part of the calls of torch.distributions",
    source="torch 2.13 on one thread, a Categorical of four logits made, drawn from and asked for a log-probability: 0.07 to 0.16",
    date="2026-11-25",
)
"""Part that goes with the graph that distributions add to the network's."""

_DISTRIBUTIONS: Final = re.compile(r"[/\\]torch[/\\]distributions[/\\]")

_LAYERS: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]")
"""torch's networks, which give what their own parts give."""

MIN_UNUSED: Final = 0.3
"""Part of the recorded ops that no backward pass uses. 0 to 2 % are usual: metrics."""

FEWEST_UNUSED: Final = 50

MOST_STRANGE: Final = 0.1
"""Part of the backward's ops whose forward is not in the trace: more are of a trace that was thinned out."""

RECORDING: Final = 0.2
"""Part of the host's time in such ops that recording a graph takes at most."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    if any(map(switches_off_for_good, profile.sources.values())) or _is_taken_beside(profile):
        return
    search = _Search(profile)
    found = ((entry, search.dropping_line(entry)) for entry in search.graphs.calls())
    dropped = ((entry, line) for entry, line in found if line is not None)
    time = calls_time(profile, search.graphs.lines, dropped)
    if not time.is_worth(MIN_SHARE):
        return
    acts = time.heaviest in search.acting
    yield Finding(
        title=f"gradients are recorded {'while acting' if acts else 'and never used'} "
        f"({time.place})",
        savings=(Saving(time.nodes, GRAPH_REMOVABLE), *search.saved_in_drawing(time.nodes)),
        locations=time.locations,
        evidence=(
            time.share_spent("in networks called from there"),
            "the source shows no torch.no_grad() or inference_mode() around the calls",
            "what they give is only read (argmax, item, sample, detach): nothing can go back through it",
        ),
        fix="with torch.no_grad(): (or torch.inference_mode()) around "
        + ("the rollout, or as decorator of the function that acts." if acts else "these calls."),
        confidence=Confidence.MEASURED,
    )


def _is_taken_beside(profile: Profile) -> bool:
    """Tell whether the program may learn from answers without being given them; torch itself defines what others do it by."""
    return any(
        installed_package(file) != "torch" and _BESIDE.search(text)
        for file, text in profile.sources.items()
    )


class _Search:
    """Look for the callers of networks, and what they ask them for."""

    def __init__(self, profile: Profile) -> None:
        self.graphs = RecordedGraphs(profile)
        self.acting: set[Line] = set()
        """Those of the lines found that are in a rollout."""
        self.drawing: set[int] = set()
        """What distributions made of these answers do."""
        self._tree = profile.steady
        self._sources = profile.sources
        own = {
            node.frame.file: self._sources[node.frame.file]
            for node in profile.steady.nodes
            if node.frame.file in self._sources and self.graphs.lines.is_yours(node.frame)
        }
        self._uses = GraphUses(self._sources, own, _networks(profile))

    def dropping_line(self, entry: int) -> Line | None:
        """The line that drops the graph of the network's call at ``entry``; None where gradients are off, may be needed, or
        where the source does not tell.
        """
        lines = self.graphs.lines
        dropped = NO_PARENT
        is_dropped = acts = learns = False
        callee = ""
        for node in self._tree.ancestors(entry):
            frame = self._tree.frame(node)
            is_yours = lines.is_yours(frame)
            # What drives a rollout may mention for its own learning how gradients are switched off.
            if self.graphs.are_off(node) or (
                (is_yours or not acts) and self.graphs.may_be_off(node)
            ):
                return None
            if not is_dropped:
                use = self._use(frame, callee)
                if use is GraphUse.KEPT:
                    return None
                is_dropped = use is GraphUse.DROPPED
            callee = last_name(frame.function)
            if not is_yours:
                continue
            text = self._sources[frame.file]
            if _FROZEN.search(text):
                return None
            if is_dropped and dropped == NO_PARENT:
                dropped = node
            if is_dropped and not (acts or learns):
                acts = steps_environment(text, frame.line)
                learns = not acts and computes_gradients_at(text, frame.line)
        if dropped == NO_PARENT or self._keeps_inside(entry):
            return None
        line = lines.line(dropped)
        self.drawing.update(self._drawing_at(dropped))
        if acts:
            self.acting.add(line)
        return line

    def saved_in_drawing(self, claimed: frozenset[int]) -> Iterator[Saving]:
        if nodes := frozenset(self.drawing - claimed):
            yield Saving(nodes, DRAWING_REMOVABLE)

    def _drawing_at(self, dropped: int) -> Iterator[int]:
        """Yield what distributions do that the line of ``dropped`` asks, or other lines of its function where that does not learn."""
        tree = self._tree
        frame, parent = tree.frame(dropped), tree.nodes[dropped].parent
        learns = computes_gradients_at(self._sources[frame.file], frame.line)
        beside = [] if learns else tree.children(parent)
        ways = [
            dropped,
            *(
                child
                for node in beside
                if (tree.frame(node).file, tree.frame(node).function)
                == (frame.file, frame.function)
                for child in tree.children(node)
                if _DISTRIBUTIONS.search(tree.frame(child).file)
            ),
        ]
        while ways:
            node = ways.pop()
            if _DISTRIBUTIONS.search(tree.frame(node).file):
                yield from tree.subtree(node)
            elif not self.graphs.are_off(node):
                ways.extend(tree.children(node))

    def _use(self, frame: Frame, callee: str) -> GraphUse:
        """Tell how ``frame`` uses the result of ``callee``. Libraries are followed, too: their sources are known here."""
        if self.graphs.lines.is_yours(frame) or _is_followed(frame):
            return self._uses.at(frame.file, frame.line, callee)
        # Decorators give it to the caller; others, as threads and torch's own, to nobody knows whom.
        is_handed_on = file_name(frame.file) == "contextlib.py" or _LAYERS.search(frame.file)
        return GraphUse.RETURNED if is_handed_on else GraphUse.KEPT

    def _keeps_inside(self, entry: int) -> bool:
        """Tell whether the network keeps a part of its own answer: it may be what is learned from."""
        return any(
            self._keeps_at(node)
            for node in self._tree.subtree(entry)
            if self.graphs.lines.is_yours(self._tree.frame(node))
        )

    def _keeps_at(self, node: int) -> bool:
        frame = self._tree.frame(node)
        # A layer is given what the layers before it made.
        if last_name(frame.function) == "forward" and self._uses.keeps_given(
            frame.file, frame.line
        ):
            return True
        callees = {
            self._called(child)
            for child in self._tree.children(node)
            if not _finds_a_layer(self._tree.frame(child))
        }
        return any(
            self._uses.at(frame.file, frame.line, callee, strangers_keep=False) is GraphUse.KEPT
            for callee in callees
        )

    def _called(self, node: int) -> str:
        frame = self._tree.frame(node)
        return "" if asks_network(frame) else last_name(frame.function)


def _finds_a_layer(frame: Frame) -> bool:
    """Tell what ``self.layer`` of a network calls: it gives no graph."""
    return bool(_LAYERS.search(frame.file)) and last_name(frame.function) == "__getattr__"


def _is_followed(frame: Frame) -> bool:
    return origin(frame) is Origin.LIBRARY and installed_package(frame.file) != "torch"


def _networks(profile: Profile) -> Mapping[str, frozenset[str]]:
    """Return expressions that were seen to be networks, as written, by file."""
    found: dict[str, set[str]] = defaultdict(set)
    for seen in profile.values:
        if Value([seen]).is_network:
            found[seen.file].add(seen.operand)
    return {file: frozenset(operands) for file, operands in found.items()}


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    used = {op.args.sequence for op in view.outermost_ops if op.name.startswith(BACKWARD)} - {-1}
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
            is_backward = op.name.startswith(BACKWARD)
            around[op.thread] = (op.end, is_backward)
        if not is_backward:
            yield op


# --- functions of a source file that act or learn ------------------------------------


def steps_environment(text: str, line: int) -> bool:
    """Tell whether the function that ``line`` is in, or the module's own level, calls an environment's ``step``."""
    return _function_at(text, line) in _calling(text, is_environment_step)


def computes_gradients_at(text: str, line: int) -> bool:
    """Tell whether it calls ``backward``: what it calls besides is for an update."""
    return _function_at(text, line) in _calling(text, differentiates)


def _function_at(text: str, line: int) -> str | None:
    """Its qualified name; the module's own level is ``""``."""
    module = parse(text)
    statement = module.statement_at(line) if module else None
    if statement is None:
        return None
    return statement.function.qualname if statement.function else ""


@lru_cache(maxsize=PARSED_FILES)
def _calling(text: str, is_one: Callable[[ast.Call], bool]) -> frozenset[str | None]:
    """The functions with such a call, by qualified name."""
    module = parse(text)
    return frozenset(
        statement.function.qualname if statement.function else ""
        for statement in (module.statements if module else ())
        if any(is_one(call) for call in statement.calls())
    )


DETECTOR: Final = Detector(
    id="grads-in-rollout",
    name="networks that record gradients where only their answer is used",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect_in_trace),
)
