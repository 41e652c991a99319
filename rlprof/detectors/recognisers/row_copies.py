"""Networks that are asked for several copies of the same rows."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.assignments import assigned
from rlprof.syntax.module import SourceModule, Statement

_COPIES: Final = frozenset({"repeat_interleave", "repeat", "tile", "expand"})
_SAME_ROWS: Final = frozenset(
    {"float", "half", "to", "div", "div_", "mul", "sub", "add", "contiguous", "clone", "detach", "view", "reshape", "flatten",
     "unsqueeze", "permute", "type", *_COPIES}
)  # fmt: skip
"""Methods that make the same of rows that are the same."""
_CONVOLUTION: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]conv\.py$")


class Copied(NamedTuple):
    """What a network is given copies of."""

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
    """The networks' work on them."""
    has_convolutions: bool


class RowCopiesSearch:
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._tree = profile.steady
        self._lines = lines
        self._values = Values(profile.values)

    def found(self) -> Iterator[RowCopies]:
        """Yield each line once."""
        made_there: dict[Line, Copied] = {}
        handed: dict[int, Copied] = {}
        """By node: other callers of the same function may hand over no copies."""
        asking = [it for it in self._tree.hot_nodes() if self._values and self._is_looked_at(it)]
        for node in asking:
            for statement in self._lines.statements(self._tree.frame(node)):
                self._look(node, statement, made_there, handed)
        nodes: dict[Line, set[int]] = defaultdict(set)
        told: dict[Line, Copied] = {}
        for node in asking:
            line = self._lines.line(node)
            copied = made_there.get(line) or handed.get(node)
            if copied is not None:
                told.setdefault(line, copied)
                nodes[line].update(self._work_at(node))
        for line, copied in told.items():
            files = (self._tree.frame(it).file for it in nodes[line])
            convolves = any(_CONVOLUTION.search(file) for file in files)
            yield RowCopies(line, copied, frozenset(nodes[line]), convolves)

    def _is_looked_at(self, node: int) -> bool:
        frame = self._tree.frame(node)
        return self._lines.is_yours(frame) and self._values.has(frame.file)

    def _work_at(self, node: int) -> Iterator[int]:
        yield node
        for child in self._tree.children(node):
            if not self._lines.is_yours(self._tree.frame(child)):
                yield from self._tree.subtree(child)

    def _look(
        self,
        node: int,
        statement: Statement,
        made_there: dict[Line, Copied],
        handed: dict[int, Copied],
    ) -> None:
        """Note whether a network is given copies in ``statement``: made in the same function, or handed over by the caller of ``node``."""
        frame = self._tree.frame(node)
        module = self._lines.module(frame.file)
        known = self._values.of(frame.file, statement)
        given = _asked_for(statement, known)
        if module is None or given is None:
            return
        made = _assigned_before(given, statement, module)
        if made is None:
            for expression, at in self._handed_over(node, given, statement):
                if (copied := _copied(expression, at, known[given])) is not None:
                    handed[node] = copied
            return
        around = {**self._values.within(frame.file, frame.function), **known}
        source = _source(made)
        if source is not None and source not in around:
            # The line that makes the copies takes no time, so that nobody looked there.
            for expression, at in self._handed_over(node, source, statement):
                if (value := value_of(expression, at)) is not None:
                    around[source] = value
        if (copied := _copied(made, around, known[given])) is not None:
            made_there.setdefault(self._lines.line(node), copied)

    def _handed_over(
        self, node: int, name: str, statement: Statement
    ) -> Iterator[tuple[ast.expr, Mapping[str, Value]]]:
        """Yield what the next of the user's lines above hands over as the parameter ``name``, with what was seen there."""
        function = statement.function
        if function is None:
            return
        names = [it.arg for it in (*function.node.args.posonlyargs, *function.node.args.args)]
        position = names.index(name) - (names[:1] == ["self"]) if name in names else -1
        frames = map(self._tree.frame, self._tree.ancestors(node))
        above = next(filter(self._lines.is_yours, frames), None)
        if position < 0 or above is None:
            return
        for caller in self._lines.statements(above):
            known = self._values.of(above.file, caller)
            for call in caller.walk():
                if isinstance(call, ast.Call) and len(call.args) > position:
                    yield call.args[position], known


def _asked_for(statement: Statement, known: Mapping[str, Value]) -> str | None:
    """Return the variable that a network is asked for, where it, or a chain of networks, is given nothing else; None where none is."""
    for call in statement.walk():
        if not isinstance(call, ast.Call) or not _is_network(call, known):
            continue
        inner: ast.expr = call
        while isinstance(inner, ast.Call) and _is_network(inner, known) and len(inner.args) == 1:
            inner = inner.args[0]
        value = known.get(inner.id) if isinstance(inner, ast.Name) else None
        if isinstance(inner, ast.Name) and value is not None and value.is_array:
            return inner.id
    return None


def _is_network(call: ast.Call, known: Mapping[str, Value]) -> bool:
    callee = value_of(call.func, known)
    return callee is not None and callee.is_network


def _assigned_before(name: str, statement: Statement, module: SourceModule) -> ast.expr | None:
    """Return what the variable was given last before ``statement`` in its function."""
    before = [
        it
        for it in module.statements
        if it.function is statement.function and it.last_line < statement.first_line
    ]
    for earlier in reversed(before):
        for one in assigned(earlier.node):
            if isinstance(one.target, ast.Name) and one.target.id == name:
                return None if one.is_unpacked else one.value
    return None


def _copied(made: ast.expr, known: Mapping[str, Value], given: Value) -> Copied | None:
    """Return what ``made`` copies, and how often: as many rows as were ``given``, by those of what is copied."""
    name = _source(made)
    source = known.get(name) if name is not None else None
    if source is None or not source.shape:
        return None
    ratios = _ratios(source.lengths, given.lengths)
    return Copied(f"{name}: {source.in_words()}", min(ratios), max(ratios)) if ratios else None


def _source(made: ast.expr) -> str | None:
    """Return what ``made`` copies the rows of, as written; None where it does not, or changes the copies."""
    is_copied = False
    while True:
        match made:
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _SAME_ROWS:
                is_copied |= name in _COPIES
                made = of
            case ast.BinOp(left=of, right=ast.Constant()):
                made = of
            case _:
                return ast.unparse(made) if is_copied else None


def _ratios(rows: frozenset[int], copies: frozenset[int]) -> list[int]:
    """Return how many copies make of ``rows`` as many of ``copies`` as possible: all that explain as many lengths."""
    found = Counter(many // few for few in rows for many in copies if few and many % few == 0)
    del found[1]
    most = max(found.values(), default=0)
    return [ratio for ratio, explained in found.items() if explained == most]
