"""Loops of Python over many numbers, whose turns do arithmetic and need nothing of each other."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.loop_elements import Turns, turns_at
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.module import called_name, variables_assigned, variables_read

FEWEST: Final = 64
"""NumbersSeen from which on a loop is told: an operation of numpy's takes about a microsecond, ten turns of a loop as much."""

_CALLED: Final = frozenset(
    {"abs", "min", "max", "float", "int", "append", "add", "exp", "log", "sqrt", "tanh"}
)
"""Calls that have a counterpart for whole arrays; the first two methods keep what a turn has found."""
_ARITHMETIC: Final = (
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.boolop,
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.IfExp,
    ast.Subscript,
    ast.Call,
    ast.Assign,
    ast.AugAssign,
    ast.If,
    ast.Expr,
    ast.Continue,
    ast.Pass,
)


class NumbersSeen(NamedTuple):
    """What a loop goes through."""

    many: int
    container: str
    """In words."""
    is_dict: bool


@dataclass(slots=True)
class NumberLoop:
    place: Line
    numbers: NumbersSeen
    nodes: set[int] = field(default_factory=set)


class NumberLoops:
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._tree = profile.steady
        self._lines = lines
        self._values = Values(profile.values)

    def found(self) -> list[NumberLoop]:
        loops: dict[tuple[str, int], NumberLoop] = {}
        for node, _ in sorted(self._tree.self_costs()) if self._values else ():
            frame = self._tree.frame(node)
            if not self._lines.is_yours(frame) or not self._values.has(frame.file):
                continue
            module = self._lines.module(frame.file)
            for turns in turns_at(module, frame.line) if module is not None else ():
                numbers = _numbers(turns, self._values.between(frame.file, turns.lines))
                if numbers is not None:
                    place = frame.file, turns.lines.start
                    line = self._lines.line(node)
                    loops.setdefault(place, NumberLoop(line, numbers)).nodes.add(node)
                    break
        return list(loops.values())


def _numbers(turns: Turns, known: Mapping[str, Value]) -> NumbersSeen | None:
    """Return the numbers that a loop goes through one by one, in words; None where it goes through anything else, or does more."""
    if not _only_computes(turns):
        return None
    for source in turns.elements.values():
        container = _gone_through(source)
        value = value_of(container, known)
        if value is None or not value.is_container or (value.length or 0) < FEWEST:
            continue
        if value.items.startswith(("int", "float", "numpy.float", "numpy.int")):
            text = f"{ast.unparse(container)}: {value.in_words()}"
            return NumbersSeen(value.length or 0, text, value.type == "dict")
    return None


def _gone_through(source: ast.expr) -> ast.expr:
    """``self.traces`` of ``self.traces.items()`` and of ``list(self.traces)``."""
    match source:
        case ast.Call(func=ast.Attribute(value=of, attr="items" | "keys" | "values")):
            return of
        case ast.Call(func=ast.Name(id="list" | "enumerate"), args=[of, *_]):
            return _gone_through(of)
    return source


def _only_computes(turns: Turns) -> bool:
    """Tell whether a turn does arithmetic alone, with what is its own and what no other turn changes."""
    nodes = [node for part in turns.body for node in ast.walk(part)]
    if not all(isinstance(node, _ARITHMETIC) for node in nodes):
        return False
    if not any(isinstance(node, ast.BinOp | ast.AugAssign) for node in nodes):
        return False
    calls = (node for node in nodes if isinstance(node, ast.Call))
    if not all(called_name(call) in _CALLED for call in calls):
        return False
    own = set(turns.elements)
    indexes = (node.slice for node in nodes if isinstance(node, ast.Subscript))
    if not all(isinstance(it, ast.Name) and it.id in own for it in indexes):
        return False
    return not _carried(turns.body, own)


def _carried(body: Iterable[ast.AST], own: set[str]) -> set[str]:
    """Return the variables that a turn reads as the turn before has left them. What is only added up is none: a sum does not need the order."""
    assigned = variables_assigned(*body) - own
    written: set[str] = set()
    found: set[str] = set()
    for statement in _in_order(body):
        reads = variables_read(*_read_by(statement))
        found |= reads & assigned - written
        written |= variables_assigned(statement) if isinstance(statement, ast.Assign) else set()
    return found


def _in_order(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for part in body:
        if isinstance(part, ast.If):
            yield ast.Expr(part.test)
            yield from _in_order([*part.body, *part.orelse])
        else:
            yield part


def _read_by(statement: ast.AST) -> Iterator[ast.AST]:
    if isinstance(statement, ast.AugAssign):
        yield statement.value
    elif isinstance(statement, ast.Assign):
        yield statement.value
        yield from statement.targets
    else:
        yield statement
