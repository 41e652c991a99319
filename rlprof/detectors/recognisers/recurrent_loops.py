"""Loops that ask a recurrent network for one time step after the other, of a sequence that is there as a whole."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Final

from rlprof.model.calibration import calibrated
from rlprof.model.finding import Range
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.values import Value, Values, value_of

FEWEST_STEPS: Final = 16
"""Steps of a sequence from which on one call for all of them is told: of 8 it leaves half with a GRU."""

SMALL_STATE: Final = calibrated(
    150_000,
    unit="batch × width²",
    source="benchmarks/replacements.py, torch 2.13 on one thread: an LSTM of 16 to 128 steps leaves 0.02 to 0.18 up to it, a GRU 0.35 to 0.58",
    date="2026-11-25",
)
"""Work of a step up to which its calls take most of the time."""

MIDDLE_STATE: Final = calibrated(
    1_000_000,
    unit="batch × width²",
    source="benchmarks/replacements.py, torch 2.13 on one thread: an LSTM leaves 0.36 to 0.45, a GRU 0.65 to 0.74; of 2 million 0.7 and more",
    date="2026-11-25",
)
"""Work from which on one call saves next to nothing."""

_GATES: Final = {
    "LSTM": (Range(0.75, 0.97), Range(0.5, 0.65)),
    "": (Range(0.4, 0.7), Range(0.25, 0.4)),
}
"""Parts that go with a small and with a middle state, of an LSTM and of the others (benchmarks/replacements.py)."""

RESET_WITHIN: Final = 0.1
"""Least part that goes where a turn multiplies the state, to reset it where an episode ends: the sequence has to be cut there."""

_RECURRENT: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]rnn\.py$")
_NETWORK: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]")
_BACKWARD: Final = re.compile(r"[/\\]torch[/\\]autograd[/\\]graph\.py$")
_IN_TURN: Final = frozenset({"zip", "enumerate", "reversed", "range"})


@dataclass(slots=True)
class RecurrentLoop:
    """One such loop."""

    place: Line
    sequence: str
    """What it goes through, in words."""
    state: str
    removable: Range
    """Part of the loop's time that goes with one call."""
    nodes: set[int] = field(default_factory=set)


class RecurrentLoops:
    """The loops of the steady phase, and the backward pass that goes through what they have made."""

    def __init__(self, profile: Profile) -> None:
        self.tree = profile.steady
        self.lines = UserLines(profile.steady, profile.sources, profile.started_package)
        self._values = Values(profile.values)
        self.found: dict[tuple[str, int], RecurrentLoop] = {}
        self.weights: dict[Line, float] = defaultdict(float)
        asked = list(self.tree.topmost(lambda frame: bool(_RECURRENT.search(frame.file))))
        for top in asked if self._values else ():
            self._look_around(top)
        self._claim()
        backward = self.tree.topmost(lambda frame: bool(_BACKWARD.search(frame.file)))
        self.backward = frozenset(it for top in backward for it in self.tree.subtree(top))

    @property
    def nodes(self) -> frozenset[int]:
        return frozenset[int]().union(*(it.nodes for it in self.found.values()))

    def us(self, nodes: frozenset[int]) -> float:
        return sum(self.tree.self_cost(it).wall_us for it in nodes)

    @property
    def part_of_networks(self) -> float:
        """Part of all time in networks that these loops are: as much of the backward pass is theirs, at least."""
        networks = {
            node
            for top in self.tree.topmost(lambda frame: bool(_NETWORK.search(frame.file)))
            for node in self.tree.subtree(top)
        }
        own = self.nodes & networks
        return self.us(own) / max(1.0, self.us(frozenset(networks)))

    def _look_around(self, top: int) -> None:
        """Find the loop around a call of a recurrent network, at any level above it."""
        asking = True
        state: Value | None = None
        for node in self.tree.ancestors(top):
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            if module is None or not self._values.has(frame.file):
                continue
            if asking:
                asking, state = False, self._state_at(frame.file, frame.line)
            for loop in module.loops_around(frame.line):
                place = frame.file, loop.lineno
                if place not in self.found and (told := self._told(frame.file, loop, state)):
                    self.found[place] = told
                if place in self.found:
                    return

    def _state_at(self, file: str, line: int) -> Value | None:
        """Return the state that a line carries from step to step."""
        seen = self._values.between(file, range(line, line + 1)).values()
        pairs = [it for it in seen if it.type == "tuple" and _work(it)]
        return max(pairs or (it for it in seen if _work(it)), key=_work, default=None)

    def _told(
        self, file: str, loop: ast.For | ast.AsyncFor, state: Value | None
    ) -> RecurrentLoop | None:
        known = self._values.between(file, range(loop.lineno, (loop.end_lineno or loop.lineno) + 1))
        sequence = next(
            (
                (ast.unparse(it), value)
                for it in _gone_through(loop)
                if (value := value_of(it, known)) is not None and value.type == "torch.Tensor"
            ),
            None,
        )
        if sequence is None or state is None or _work(state) > MIDDLE_STATE:
            return None
        text, value = sequence
        if len(value.shape or ()) < 2 or (value.shape or (0,))[0] < FEWEST_STEPS:
            return None
        # Of a pair of states, as an LSTM has.
        small, middle = _GATES["LSTM" if state.type == "tuple" else ""]
        removable = small if _work(state) <= SMALL_STATE else middle
        if _multiplies(loop):
            removable = Range(RESET_WITHIN, removable.high)
        return RecurrentLoop(
            Line(file, loop.lineno, ""), f"{text}: {value.in_words()}", state.in_words(), removable
        )

    def _claim(self) -> None:
        for node in self.tree.hot_nodes() if self.found else ():
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            for loop in module.loops_around(frame.line) if module is not None else ():
                found = self.found.get((frame.file, loop.lineno))
                if found is None:
                    continue
                new = set(self.tree.subtree(node)) - found.nodes
                found.nodes |= new
                self.weights[self.lines.line(node)] += self.us(frozenset(new))


def _work(state: Value) -> int:
    """Multiplications of a step, but for a factor: batch × width²; 0 for what is no tensor, nor a pair of them."""
    shape = _shape_of(state) or ()
    return prod(shape[:-1]) * shape[-1] ** 2 if len(shape) > 1 else 0


def _shape_of(value: Value) -> tuple[int, ...] | None:
    """Shape of a state: a tensor, or the first of a pair."""
    if value.type == "torch.Tensor":
        return value.shape
    text = value.fields.get("first.shape", "") if value.items == "torch.Tensor" else ""
    return tuple(int(it) for it in text.split(",")) if text else None


def _gone_through(loop: ast.For | ast.AsyncFor) -> Iterator[ast.expr]:
    """Yield what a loop takes a step of in each turn: what it iterates over, or indexes by its counter."""
    sources = [loop.iter]
    while sources:
        source = sources.pop()
        match source:
            case ast.Call(func=ast.Name(id=name), args=args) if name in _IN_TURN:
                sources.extend(args)
            case _:
                yield source
    counters = {it.id for it in ast.walk(loop.target) if isinstance(it, ast.Name)}
    for node in (it for statement in loop.body for it in ast.walk(statement)):
        match node:
            case ast.Subscript(value=of, slice=ast.Name(id=name)) if name in counters:
                yield of
            case ast.Subscript(value=of, slice=ast.Tuple(elts=[ast.Name(id=name), *_])) if (
                name in counters
            ):
                yield of


def _multiplies(loop: ast.For | ast.AsyncFor) -> bool:
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        for statement in loop.body
        for node in ast.walk(statement)
    )
