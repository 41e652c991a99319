"""A network that is asked for several copies of the same rows, or several times for the same."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import SteadySearch, own_time
from rlprof.detectors.recognisers.networks.asked_again import (
    AskedAgain,
    AskedAgainSearch,
    answers_by_chance,
)
from rlprof.detectors.recognisers.networks.recorded_graphs import BackwardPass
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.source.histories import Level, handed_over
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.source.value import Value
from rlprof.source.values import asked_network, value_of
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned_to, given_by_name, stores_of

_ALONG_ROWS: Final = frozenset({"repeat", "tile"})
"""Methods whose first argument says how often the rows are repeated, as that of ``repeat_interleave(n, 0)`` does."""
_OF_EACH_NUMBER: Final = frozenset(
    {"float", "half", "double", "to", "type", "div", "mul", "add", "sub", "contiguous", "clone", "detach"}
)  # fmt: skip
"""Methods that do to all copies of a row the same, with constants."""
_CONVOLUTION: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]conv\.py$")

MIN_SHARE: Final = 0.03
"""Least share of the critical time, in the networks' forward passes."""

OF_CONVOLUTIONS: Final = Range(0.75, 1.0)
"""Part of the needless rows' share of a network's time that goes with them, where it convolves: the work grows with the rows. By reason."""

OF_LAYERS: Final = Range(0.0, 1.0)
"""The same of linear layers: small ones take as long for a few rows as for many."""


OF_AN_ANSWER: Final = Range(0.8, 1.0)
"""Part of the time of a network's needless calls that goes with them, as shares of the calls tell it; by reason."""

BESIDE_OTHERS: Final = Range(0.3, 1.0)
"""The same where the lines that ask it ask others, too."""


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    yield from _of_copies(profile, lines)
    yield from _of_questions(profile, lines)


def _of_questions(profile: Profile, lines: UserLines) -> Iterator[Finding]:
    found = AskedAgainSearch(profile, lines).found()
    time = own_time(profile, lines, found, MIN_SHARE)
    if time is None:
        return
    most = time.most
    savings = [Saving(each.nodes, _of_others(each)) for each in found]
    at = " and ".join(short_place(line) for line in most.lines)
    yield Finding(
        title=f"a network is asked {most.times} times for the same ({time.place})",
        savings=BackwardPass(profile, lines).with_forward(savings),
        locations=time.locations,
        evidence=(
            time.share_spent("in its calls"),
            f"{most.network} is given {most.given} at {at}, and nothing changes either in between",
        ),
        fix="Ask it once, and make of its answer what each place needs: h = net.body(x); logits, value = net.actor(h), net.critic(h). Where it drops units "
        "at random or draws noise, each answer is another one: then leave it.",
        confidence=Confidence.BOUNDED,
    )


def _of_others(asked: AskedAgain) -> Range:
    """Part of all its calls that goes: those beside the dearest."""
    return (BESIDE_OTHERS if asked.has_others else OF_AN_ANSWER).scaled(asked.goes)


def _of_copies(profile: Profile, lines: UserLines) -> Iterator[Finding]:
    copies = list(RowCopiesSearch(profile, lines).found())
    time = own_time(profile, lines, copies, MIN_SHARE)
    if time is None:
        return
    savings = [Saving(copy.nodes, _of_needless(copy)) for copy in copies]
    yield Finding(
        title=f"a network computes the same rows several times ({time.place})",
        savings=BackwardPass(profile, lines).with_forward(savings),
        locations=time.locations,
        evidence=(
            time.share_spent("in its forward pass"),
            f"each row comes {_times(time.most.copied)} times: {time.most.copied.rows}",
        ),
        fix="Ask it for each row once, and copy what it answers: net(x).repeat_interleave(n, 0) instead of net(x.repeat_interleave(n, 0)). Not where "
        "it draws random numbers, as dropout and noisy layers do.",
        confidence=Confidence.BOUNDED,
    )


def _of_needless(found: RowCopies) -> Range:
    is_sure = found.has_convolutions and not found.has_others
    part = OF_CONVOLUTIONS if is_sure else OF_LAYERS
    least, most = (1 - 1 / times for times in (found.copied.fewest, found.copied.most))
    return Range(part.low * least, part.high * most)


def _times(copied: Copied) -> str:
    least, most = copied.fewest, copied.most
    return f"{least}" if least == most else f"{least} to {most}"


class Copied(NamedTuple):
    """Row that a network is given copies of."""

    rows: str
    """In words."""
    fewest: int
    """Copies of each row, at least; where batches of several sizes were seen, two numbers may explain them."""
    most: int


@dataclass(frozen=True, slots=True)
class RowCopies:
    """One line on which networks are asked for copies."""

    place: Line
    copied: Copied
    nodes: frozenset[int]
    """The work of the line's networks."""
    has_convolutions: bool
    has_others: bool
    """True if the line asks further networks, whose work cannot be told from that on the copies."""


class RowCopiesSearch(SteadySearch):
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._with_others: set[Line] = set()
        """Lines that ask a network beside those that are given copies."""

    def found(self) -> Iterator[RowCopies]:
        """Yield each line once."""
        made_there: dict[Line, Copied] = {}
        handed: dict[int, Copied] = {}
        """By node: other callers of the same function may hand over no copies."""
        asking = [part for part in self.tree.hot_nodes() if self._is_looked_at(part)]
        for node in asking:
            for statement in self.lines.statements(self.tree.frame(node)):
                self._look(node, statement, made_there, handed)
        nodes: dict[Line, set[int]] = defaultdict(set)
        told: dict[Line, Copied] = {}
        for node in asking:
            line = self.lines.line(node)
            copied = made_there.get(line) or handed.get(node)
            if copied is not None:
                told.setdefault(line, copied)
                nodes[line].update(self._work_at(node))
        for line, copied in told.items():
            inside = {self.tree.frame(place) for place in nodes[line]}
            # Copies are given on purpose to what answers each by chance: networks with dropout, policies that draw.
            if not answers_by_chance(inside):
                yield RowCopies(
                    line,
                    copied,
                    frozenset(nodes[line]),
                    has_convolutions=any(_CONVOLUTION.search(frame.file) for frame in inside),
                    has_others=line in self._with_others,
                )

    def _is_looked_at(self, node: int) -> bool:
        frame = self.tree.frame(node)
        return self.lines.is_yours(frame) and self.values.has(frame.file)

    def _work_at(self, node: int) -> Iterator[int]:
        yield node
        for child in self.tree.children(node):
            if not self.lines.is_yours(self.tree.frame(child)):
                yield from self.tree.subtree(child)

    def _look(
        self,
        node: int,
        statement: Statement,
        made_there: dict[Line, Copied],
        handed: dict[int, Copied],
    ) -> None:
        """Note whether a network is given copies in ``statement``: made in the same function, or handed over by the caller of ``node``."""
        frame = self.tree.frame(node)
        module = self.lines.module(frame.file)
        known = self.values.of(frame.file, statement)
        asked = _asked_for(statement, known)
        if module is None or asked is None:
            return
        given = asked.variable
        if asked.has_others:
            self._with_others.add(self.lines.line(node))
        written = _written(given, statement, module)
        if not written:
            for expression, at in self._handed_over(node, given, statement):
                if (copied := _copied(expression, at, known[given], is_all=False)) is not None:
                    handed[node] = copied
            return
        source = _source(written[0]) if len(written) == 1 else None
        if source is None:
            return
        around = {**self.values.within(frame.file, frame.function), **known}
        is_all = source in around
        if not is_all:
            # The line that makes the copies takes no time, so that nobody looked there.
            for expression, at in self._handed_over(node, source, statement):
                if (value := value_of(expression, at)) is not None:
                    around[source] = value
        copied = _copied(written[0], around, known[given], is_all=is_all)
        if copied is not None:
            made_there.setdefault(self.lines.line(node), copied)

    def _handed_over(
        self, node: int, name: str, statement: Statement
    ) -> Iterator[tuple[ast.expr, Mapping[str, Value]]]:
        """Yield what the next of the user's lines above hands over as the parameter ``name``, with what was seen there."""
        frames = map(self.tree.frame, self.tree.ancestors(node))
        above = next(filter(self.lines.is_yours, frames), None)
        module = self.lines.module(above.file) if above is not None else None
        if above is None or module is None:
            return
        for caller in self.lines.statements(above):
            level = Level(module, caller, self.values.of(above.file, caller))
            for given in handed_over(name, statement.function, level):
                yield given, level.known


class _AskedFor(NamedTuple):
    """Batch that a network is asked for."""

    variable: str
    has_others: bool
    """True if the statement asks further networks."""


def _asked_for(statement: Statement, known: Mapping[str, Value]) -> _AskedFor | None:
    """Return the variable that a network, or a chain of networks, is given, and nothing else; None where none is."""
    calls = [call for call in statement.calls() if asked_network(call, known) is not None]
    for call in calls:
        chain: list[ast.expr] = [call]
        inner: ast.expr = call
        while isinstance(inner, ast.Call) and len(inner.args) == 1 and not inner.keywords:
            if asked_network(inner, known) is None:
                break
            inner = inner.args[0]
            chain.append(inner)
        value = known.get(inner.id) if isinstance(inner, ast.Name) else None
        if isinstance(inner, ast.Name) and value is not None and value.is_array:
            others = [other for other in calls if other not in chain]
            return _AskedFor(inner.id, bool(others))
    return None


def _written(name: str, statement: Statement, module: SourceModule) -> list[ast.expr | None]:
    """Return what the function of ``statement`` gives the variable; None for what is no plain assignment, or changes it in place."""
    found: list[ast.expr | None] = []
    for other in module.of_function(statement.function):
        values = [
            None if each.is_unpacked else each.value for each in assigned_to(name, [other.node])
        ]
        found += values
        stores = stores_of(name, other.walk())
        found += [None] * max(0, len(stores) - len(values))
        found += [None for node in other.walk() if _changes(node, name)]
    return found


def _changes(node: ast.AST, name: str) -> bool:
    """Tell whether ``x[i] = …`` or ``x.add_(…)`` stands there."""
    match node:
        case ast.Subscript(value=ast.Name(id=of), ctx=ast.Store()):
            return of == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=method)):
            return of == name and method.endswith("_")
    return False


def _copied(
    made: ast.expr | None, known: Mapping[str, Value], given: Value, *, is_all: bool
) -> Copied | None:
    """Return what ``made`` copies, and how often: as many rows as were ``given``, by those of what is copied.

    ``is_all``: what is copied was seen in the same function, so that its rows explain all that were given.
    """
    name = _source(made)
    source = known.get(name) if name is not None else None
    if source is None or not source.shape or not given.shape or source.shape[1:] != given.shape[1:]:
        return None
    ratios = _ratios(source.lengths, given.lengths, is_all=is_all)
    return Copied(f"{name}: {source.in_words()}", min(ratios), max(ratios)) if ratios else None


def _source(made: ast.expr | None) -> str | None:
    """Return what ``made`` copies the rows of, as written; None where it does not, or does more to the copies."""
    is_copied = False
    while True:
        match made:
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if _copies_rows(made):
                made, is_copied = of, True
            case ast.Call(func=ast.Attribute(value=of, attr=name), args=args) if (
                name in _OF_EACH_NUMBER and all(map(_is_the_same_for_all, args))
            ):
                made = of
            case ast.BinOp(left=of, right=ast.Constant()):
                made = of
            case None:
                return None
            case _:
                return ast.unparse(made) if is_copied else None


def _copies_rows(call: ast.Call) -> bool:
    name, args = called_name(call), call.args
    if name == "repeat_interleave":
        along = [*args[1:2], *given_by_name(call, "dim")]
        return [ast.unparse(part) for part in along] == ["0"]
    return name in _ALONG_ROWS and bool(args) and ast.unparse(args[0]) != "1"


def _is_the_same_for_all(argument: ast.expr) -> bool:
    """Tell whether an argument is a number, a type or a device: no tensor that may differ from copy to copy."""
    return isinstance(argument, ast.Constant) or ast.unparse(argument).startswith(
        ("torch.", "self.device", "device")
    )


def _ratios(rows: frozenset[int], copies: frozenset[int], *, is_all: bool) -> list[int]:
    """Return how many copies make of ``rows`` as many of ``copies`` as possible: all that explain as many lengths."""
    found = Counter(many // few for few in rows for many in copies if few and many % few == 0)
    if not is_all:
        del found[1]
    most = max(found.values(), default=0)
    best = [ratio for ratio, explained in found.items() if explained == most]
    return [] if 1 in best or (is_all and most < len(copies)) else best


DETECTOR: Final = Detector(
    id="copied-rows",
    name="a network asked several times for the same rows",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES, Need.VALUES})),
)
