"""Networks that are asked for several copies of the same rows."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class RowCopies:
    """One line on which networks are asked for copies."""

    place: Line
    rows: str
    """What is copied, in words."""
    times: int
    """Copies of each row."""
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
        nodes: dict[Line, set[int]] = defaultdict(set)
        told: dict[Line, tuple[str, int]] = {}
        for node in self._tree.hot_nodes() if self._values else ():
            frame = self._tree.frame(node)
            if not self._lines.is_yours(frame) or not self._values.has(frame.file):
                continue
            copied = next(
                filter(None, (self._copied(node, it) for it in self._lines.statements(frame))), None
            )
            if copied is not None:
                line = self._lines.line(node)
                told.setdefault(line, copied)
                nodes[line] |= {node} | {
                    below
                    for child in self._tree.children(node)
                    if not self._lines.is_yours(self._tree.frame(child))
                    for below in self._tree.subtree(child)
                }
        for line, (rows, times) in told.items():
            files = (self._tree.frame(it).file for it in nodes[line])
            convolves = any(_CONVOLUTION.search(file) for file in files)
            yield RowCopies(line, rows, times, frozenset(nodes[line]), convolves)

    def _copied(self, node: int, statement: Statement) -> tuple[str, int] | None:
        """Return what a network is given copies of there, in words, and how many."""
        frame = self._tree.frame(node)
        module = self._lines.module(frame.file)
        known = self._values.of(frame.file, statement)
        given = _asked_for(statement, known)
        if module is None or given is None:
            return None
        made = _assigned_before(given, statement, module)
        if made is not None:
            around = self._values.within(frame.file, frame.function)
            return _times(made, {**around, **known}, known[given])
        return self._given_by_caller(node, given, statement, known[given])

    def _given_by_caller(
        self, node: int, given: str, statement: Statement, value: Value
    ) -> tuple[str, int] | None:
        """The same where ``given`` is a parameter, and the next of the user's lines above hands copies over."""
        function = statement.function
        if function is None:
            return None
        names = [it.arg for it in (*function.node.args.posonlyargs, *function.node.args.args)]
        position = names.index(given) - (names[:1] == ["self"]) if given in names else -1
        above = next(
            (it for it in self._tree.ancestors(node) if self._lines.is_yours(self._tree.frame(it))),
            None,
        )
        if position < 0 or above is None:
            return None
        frame = self._tree.frame(above)
        for caller in self._lines.statements(frame):
            known = self._values.of(frame.file, caller)
            for call in caller.walk():
                if (
                    isinstance(call, ast.Call)
                    and len(call.args) > position
                    and (copied := _times(call.args[position], known, value)) is not None
                ):
                    return copied
        return None


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


def _times(made: ast.expr, known: Mapping[str, Value], given: Value) -> tuple[str, int] | None:
    """Return what ``made`` copies, in words, and how often: as many rows as were ``given``, by those of what is copied."""
    is_copied = False
    while True:
        match made:
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _SAME_ROWS:
                is_copied |= name in _COPIES
                made = of
            case ast.BinOp(left=of, right=ast.Constant()):
                made = of
            case _:
                break
    source = value_of(made, known)
    if not is_copied or source is None or not source.shape:
        return None
    times = _ratio(source.lengths, given.lengths)
    return (f"{ast.unparse(made)}: {source.in_words()}", times) if times > 1 else None


def _ratio(rows: frozenset[int], copies: frozenset[int]) -> int:
    """Return how many copies make of ``rows`` as many of ``copies`` as possible; 0 where none do."""
    found = Counter(many // few for few in rows for many in copies if few and many % few == 0)
    del found[1]
    # Of several that explain as much, the least.
    return max(found, key=lambda it: (found[it], -it), default=0)
