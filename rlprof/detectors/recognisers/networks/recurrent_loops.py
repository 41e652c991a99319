"""Loops that ask a recurrent network for one time step after the other, of a sequence that is there as a whole."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.networks.recorded_graphs import BackwardPass
from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range, Saving
from rlprof.model.profile import Profile
from rlprof.profile.components import ENVIRONMENT, INFERENCE
from rlprof.source.lines import Line
from rlprof.source.recurrence import Asked, CallingFunction, asked_in_turn
from rlprof.source.recurrent_values import Touch, recurrent_kind, state_shape, step_work
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import SourceModule, Statement
from rlprof.syntax.nodes import given_by_name, lines_of, names_in, nodes_in

FEWEST_STEPS: Final = 16
"""Steps of a sequence from which on one call for all of them is told: of 8 it leaves half with a GRU."""

SMALL_STATE: Final = calibrated(
    150_000,
    unit="batch × width²",
    source="benchmarks/replacements.py, torch 2.13 on one thread: up to it an LSTM leaves 0.02 to 0.18, an LSTMCell 0.22 to 0.27, a GRU 0.35 to "
    "0.58, a GRUCell 0.69 to 0.73, an RNN 0.32 to 0.35, an RNNCell 0.51 to 0.53, a layer before them 0.19 to 0.25; other sizes and passes "
    "without gradients, by hand: 0.22, 0.18 to 0.35, 0.30 to 0.55, 0.46 to 0.75, 0.18 to 0.37, 0.31 to 0.63, 0.13 to 0.30",
    date="2026-11-25",
)
"""Work of a step up to which its calls take most of the time."""

MIDDLE_STATE: Final = calibrated(
    1_000_000,
    unit="batch × width²",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of half of it an LSTM leaves 0.36 to 0.45, an LSTMCell 0.54, a GRU 0.65 to "
    "0.74, a GRUCell 0.84, an RNN 0.55, an RNNCell 0.72, a layer before them 0.52; of 2 million 0.7 and more",
    date="2026-11-25",
)
"""Work from which on one call saves next to nothing."""

_REMOVABLE: Final = {
    "LSTM": (Range(0.75, 0.97), Range(0.5, 0.7)),
    "LSTMCell": (Range(0.6, 0.9), Range(0.4, 0.55)),
    "GRU": (Range(0.4, 0.7), Range(0.25, 0.4)),
    "GRUCell": (Range(0.22, 0.6), Range(0.12, 0.3)),
    "RNN": (Range(0.55, 0.85), Range(0.4, 0.6)),
    "RNNCell": (Range(0.3, 0.72), Range(0.25, 0.4)),
}
"""Parts of a network's time that go with a small and with a middle state, as above."""

_LAYERS: Final = Range(0.65, 0.9), Range(0.4, 0.7)
"""Parts that go of all else in the loop, done for all steps at once."""

LARGEST_ON_GPU: Final = calibrated(
    20_000_000,
    unit="batch × width²",
    source="H200, torch 2.11: an LSTM of 64 × 256 asked for 67 steps (4 million), all in one call saved 0.74 of the program's time (one pair); of "
    "20 million a step computes for some 10 µs at half of the card's fp32 rate, and its calls take the host about 100",
    date="2026-11-26",
)
"""Work of a step up to which it is launches alone on a GPU."""

_MOST_ON_GPU: Final = 0.98
"""Part that goes at most there."""

RESET_WITHIN: Final = 0.1
"""Least part that goes where the state is reset within the sequence, as where an episode ends: it has to be cut there."""

TORN: Final = 0.05
"""Part of the time of a loop's networks that may be seen at lines which don't ask them, since stacks are read while they move."""

MOST_LEVELS: Final = 8
"""Functions between the loop and the network, at most."""

_RECURRENT: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]rnn\.py$")
_IN_TURN: Final = frozenset({"zip", "enumerate", "reversed", "range"})
_TENSORS: Final = ("torch.Tensor", "numpy.ndarray")
_ANSWERS: Final = (INFERENCE, ENVIRONMENT)
"""Parts in which the next observation isn't known yet."""


@dataclass(slots=True)
class RecurrentLoop:
    """One such loop."""

    place: Line
    sequence: str
    """What it goes through, in words."""
    state: str
    is_reset: bool
    """True if the state is set to zero within the sequence."""
    of_network: Range
    """Part of the network's time that goes with one call."""
    of_others: Range
    """The same of all else in the loop."""
    callers: set[int] = field(default_factory=set)
    """Nodes that call the loop's function, in updates."""
    nodes: set[int] = field(default_factory=set)
    networks: set[int] = field(default_factory=set)
    """Those of them that are within recurrent networks."""

    @property
    def savings(self) -> Iterator[Saving]:
        if self.networks:
            yield Saving(frozenset(self.networks), self.of_network)
        if others := self.nodes - self.networks:
            yield Saving(frozenset(others), self.of_others)


@dataclass(slots=True)
class _Looked:
    """Values that were seen at the calls of recurrent networks in one loop."""

    told: RecurrentLoop | None = None
    for_us: float = 0.0
    against_us: float = 0.0
    """Time of those that need answers of the step before, or of which the sources show nothing."""

    @property
    def is_sure(self) -> bool:
        return self.against_us <= TORN * self.for_us


class RecurrentLoops(SteadySearch):
    """The loops of the steady phase, and the backward pass that goes through what they have made."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self._backward = BackwardPass(profile, self.lines)
        self.weights: dict[Line, float] = defaultdict(float)
        looked: dict[tuple[str, int], _Looked] = defaultdict(_Looked)
        asked = list(self.tree.topmost(lambda frame: bool(_RECURRENT.search(frame.file))))
        for top in asked if self.values else ():
            if not (profile.parts and profile.parts[top] in _ANSWERS):
                self._look_around(top, looked)
        self.found = [
            look.told for look in looked.values() if look.told is not None and look.is_sure
        ]
        self._claim(self.tree.subtrees(asked))

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset[int]().union(*(loop.nodes for loop in self.found))

    def backward(self) -> Saving | None:
        """Return what goes of the backward pass: as much as of the loops, of the part that is theirs."""
        savings = [saving for loop in self.found for saving in loop.savings]
        return self._backward.saving(savings)

    def _look_around(self, top: int, looked: dict[tuple[str, int], _Looked]) -> None:
        """Look at the innermost loop over a sequence around a call of a recurrent network, at any level above it."""
        levels: list[CallingFunction] = []
        for node in self.tree.ancestors(top):
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            statement = module.statement_at(frame.line) if module is not None else None
            if module is None or statement is None or frame.function.endswith(("comp>", "expr>")):
                continue
            known = self._seen_around(frame.file, module, statement)
            levels.insert(0, CallingFunction(module, frame.line, known))
            if len(levels) > MOST_LEVELS:
                return
            for loop in reversed([*module.loops_around(frame.line)]):
                place = frame.file, loop.lineno
                if (sequence := self._sequence(frame.file, loop)) is None:
                    continue
                asked = asked_in_turn(levels, loop)
                told = (
                    _recurrent_loop(Line(*place, ""), sequence, asked)
                    if asked is not None
                    else None
                )
                looks = looked[place]
                time = self.tree.total_cost(top).wall_us
                if told is None:
                    looks.against_us += time
                else:
                    looks.told = looks.told or told
                    looks.told.callers.add(self.tree.nodes[node].parent)
                    looks.for_us += time
                return

    def _seen_around(
        self, file: str, module: SourceModule, statement: Statement
    ) -> Mapping[str, Value]:
        """Return what was seen in the function, or the outermost loop, of a statement; as it was there, where it was."""
        around = module.function_at(statement.first_line)
        if around is not None:
            lines = around.lines
        else:
            loops = [*module.loops_around(statement.first_line)]
            first = min((loop.lineno for loop in loops), default=statement.first_line)
            last = max(
                (loop.end_lineno or loop.lineno for loop in loops), default=statement.last_line
            )
            lines = range(first, last + 1)
        return {**self.values.between(file, lines), **self.values.of(file, statement)}

    def _sequence(self, file: str, loop: ast.For | ast.AsyncFor) -> str | None:
        """Return the largest sequence that a loop takes steps of, in words; None where there is none, or it is short."""
        known = self.values.between(file, lines_of(loop))
        given = _written_to(loop)
        found = {
            ast.unparse(expression): value
            for expression, axis in _gone_through(loop)
            if ast.unparse(expression) not in given
            and (value := value_of(expression, known)) is not None
            and _steps(value, axis) >= FEWEST_STEPS
        }
        if not found:
            return None
        text = max(found, key=lambda name: prod(found[name].shape or (found[name].length or 0,)))
        return f"{text}: {found[text].in_words()}"

    def _claim(self, networks: frozenset[int]) -> None:
        places = {(told.place.file, told.place.line): told for told in self.found}
        for node in self.tree.hot_nodes() if places else ():
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            for loop in module.loops_around(frame.line) if module is not None else ():
                found = places.get((frame.file, loop.lineno))
                if found is None or self.tree.nodes[node].parent not in found.callers:
                    continue
                new = set(self.tree.subtree(node)) - found.nodes
                found.nodes |= new
                found.networks |= new & networks
                self.weights[self.lines.line(node)] += self.tree.cost_of(new).wall_us


def _recurrent_loop(place: Line, sequence: str, asked: Asked) -> RecurrentLoop | None:
    state = asked.state
    if state is None or len(state_shape(state)) < 2:
        return None
    largest, of_calls = (
        (MIDDLE_STATE, SMALL_STATE) if state.is_on_cpu else (LARGEST_ON_GPU, LARGEST_ON_GPU)
    )
    if step_work(state) > largest:
        return None
    small = step_work(state) <= of_calls
    removable = _REMOVABLE.get(recurrent_kind(asked.network))
    if removable is None:
        return None
    of_network, of_others = (pair[0 if small else 1] for pair in (removable, _LAYERS))
    if not state.is_on_cpu:
        of_network, of_others = (Range(each.low, _MOST_ON_GPU) for each in (of_network, of_others))
    is_reset = asked.touch is Touch.RESET
    if is_reset:
        of_network, of_others = (Range(RESET_WITHIN, each.high) for each in (of_network, of_others))
    return RecurrentLoop(place, sequence, state.in_words(), is_reset, of_network, of_others)


def _steps(value: Value, axis: int) -> int:
    """Steps in a sequence: rows of a tensor with at least two axes, or tensors in a list; 0 for what is none."""
    shape = value.shape or ()
    if value.type in _TENSORS:
        return shape[axis] if len(shape) > max(1, axis) else 0
    is_listed = value.type in ("list", "tuple") and value.items in _TENSORS and axis == 0
    return (value.length or 0) if is_listed else 0


def _gone_through(loop: ast.For | ast.AsyncFor) -> Iterator[tuple[ast.expr, int]]:
    """Yield what a loop takes a step of in each turn, with its axis: what it iterates over, or indexes by its counter."""
    sources = [loop.iter]
    while sources:
        match sources.pop():
            case ast.Call(func=ast.Name(id=name), args=args) if name in _IN_TURN:
                sources.extend(args)
            case (
                ast.Call(
                    func=ast.Attribute(value=ast.Name(id="torch"), attr="unbind" | "split")
                ) as call
            ):
                sources.append(_as_method(call))
            case ast.Call(func=ast.Attribute(value=of, attr="unbind"), args=args):
                yield of, _number(args[0]) if args else 0
            case (
                ast.Call(
                    func=ast.Attribute(value=of, attr="split"), args=[ast.Constant(value=1), *args]
                ) as call
            ):
                # As ``unbind``, with an axis of length 1 left in each.
                along = [*args, *given_by_name(call, "dim")]
                yield of, _number(along[0]) if along else 0
            case source:
                yield source, 0
    counters = names_in(loop.target)
    for node in nodes_in(*loop.body):
        match node:
            case ast.Subscript(value=of, slice=ast.Tuple(elts=parts), ctx=ast.Load()):
                axes = [number for number, part in enumerate(parts) if _is_in(part, counters)]
                if axes and all(isinstance(part, ast.Slice) for part in parts[: axes[0]]):
                    yield of, axes[0]
            case ast.Subscript(value=of, slice=index, ctx=ast.Load()) if _is_in(index, counters):
                yield of, 0


def _as_method(call: ast.Call) -> ast.expr:
    """``torch.unbind(x, 1)`` as ``x.unbind(1)``."""
    if not call.args or not isinstance(call.func, ast.Attribute):
        return call.func
    method = ast.Attribute(value=call.args[0], attr=call.func.attr, ctx=ast.Load())
    return ast.Call(func=method, args=call.args[1:], keywords=call.keywords)


def _written_to(loop: ast.For | ast.AsyncFor) -> set[str]:
    """Return what the loop itself fills: a buffer of a rollout is not there as a whole."""
    found: set[str] = set()
    for node in nodes_in(*loop.body):
        match node:
            case ast.Subscript(value=of, ctx=ast.Store()):
                found.add(ast.unparse(of))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=of))):
                found.add(ast.unparse(of))
    return found


def _is_in(index: ast.expr, counters: set[str]) -> bool:
    return isinstance(index, ast.Name) and index.id in counters


def _number(argument: ast.expr) -> int:
    value = argument.value if isinstance(argument, ast.Constant) else 0
    return value if isinstance(value, int) else 0
