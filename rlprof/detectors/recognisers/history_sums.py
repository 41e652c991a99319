"""Statistics of all that was gathered so far, computed anew at each step: what could be kept as a running sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.growing import additions
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import Comprehension, SourceModule, Statement, called_name
from rlprof.syntax.operands import operand_of
from rlprof.syntax.origin import installed_package
from rlprof.syntax.pure_calls import hardly_works

FEWEST: Final = 200
"""Elements from which on: to go through 200 numbers of a list takes as long as some ten steps of a running mean."""

_RUNNING: Final = frozenset(
    {"mean", "average", "sum", "std", "var", "nanmean", "nansum", "nanstd", "nanvar", "fmean", "fsum", "stdev", "pstdev", "variance"}
)  # fmt: skip
"""Statistics of which a sum or two tell all."""
_BY_ORDER: Final = frozenset(
    {"max", "min", "amax", "amin", "median", "percentile", "quantile", "sorted", "argmax", "argmin", "ptp"}
)  # fmt: skip
"""Those that take the elements in their order."""
_CONVERTS: Final = frozenset(
    {"array", "asarray", "stack", "vstack", "tensor", "as_tensor", "FloatTensor", "list", "fromiter", "concatenate", "cat"}
)  # fmt: skip
_LIBRARIES: Final = ("numpy.", "torch.", "statistics.", "math.")
_PACKAGES: Final = frozenset({"numpy", "torch"})


class Statistic(NamedTuple):
    """A statement that goes through all of a container for a few numbers."""

    name: str
    """Of the function: ``mean``."""
    container: str
    """As written."""
    value: Value
    is_running: bool
    """True if one sum or two tell all."""
    is_alone: bool
    """True if nothing else is called there."""


@dataclass(slots=True)
class HistorySum:
    """One such line, with the nodes that do its work."""

    place: Line
    statistic: Statistic
    nodes: set[int] = field(default_factory=set)


class HistorySums:
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._tree = profile.steady
        self._lines = lines
        self._values = Values(profile.values)
        self._known: dict[tuple[str, int], Statistic | None] = {}

    def found(self) -> list[HistorySum]:
        found: dict[Line, HistorySum] = {}
        for node in self._tree.hot_nodes() if self._values else ():
            frame = self._tree.frame(node)
            if not self._lines.is_yours(frame) or not self._lines.is_repeated(node):
                continue
            statistic = self._statistic(frame)
            if statistic is not None:
                line = self._lines.line(node)
                one = found.setdefault(line, HistorySum(line, statistic))
                one.nodes |= {node, *self._below(node)}
        return list(found.values())

    def _below(self, node: int) -> Iterator[int]:
        """Yield what libraries of arrays do there."""
        for child in self._tree.children(node):
            frame = self._tree.frame(child)
            is_own = frame.file == self._tree.frame(node).file and frame.function.endswith("expr>")
            if installed_package(frame.file) in _PACKAGES or is_own:
                yield from self._tree.subtree(child)

    def _statistic(self, frame: Frame) -> Statistic | None:
        key = (frame.file, frame.line)
        if key not in self._known:
            module = self._lines.module(frame.file)
            known = self._values.between(frame.file, range(frame.line, frame.line + 1))
            self._known[key] = _read(module, frame.line, known) if module and known else None
        return self._known[key]


def _read(module: SourceModule, line: int, known: Mapping[str, Value]) -> Statistic | None:
    for statement in module.statements_at(line):
        calls = [it for it in statement.walk() if isinstance(it, ast.Call)]
        names = _names_of_statistics(module, calls) or _made_for_statistics(module, statement)
        others = [
            it
            for it in calls
            if called_name(it) not in _RUNNING | _BY_ORDER | _CONVERTS and not hardly_works(it)
        ]
        for container in _containers(calls) if names else ():
            value = value_of(container, known)
            if value is not None and _is_history(module, container, value):
                return Statistic(
                    min(names),
                    ast.unparse(container),
                    value,
                    is_running=names <= _RUNNING,
                    is_alone=not others,
                )
    return None


def _names_of_statistics(module: SourceModule, calls: Sequence[ast.Call]) -> set[str]:
    return {called_name(it) for it in calls if _is_statistic(module, it)}


def _is_statistic(module: SourceModule, call: ast.Call) -> bool:
    if called_name(call) not in _RUNNING | _BY_ORDER:
        return False
    full = full_name(call.func, module.imports)
    is_method = isinstance(call.func, ast.Attribute) and not full
    # Of two numbers ``max`` is none.
    is_built_in = isinstance(call.func, ast.Name) and not full and len(call.args) == 1
    return full.startswith(_LIBRARIES) or is_method or is_built_in


def _made_for_statistics(module: SourceModule, statement: Statement) -> set[str]:
    """Names of the statistics of an array that the statement makes of a container, where its function uses it for nothing else."""
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            if called_name(call) not in _CONVERTS:
                return set()
        case _:
            return set()
    found: set[str] = set()
    for other in _statements_of(module, statement):
        calls = [it for it in other.walk() if isinstance(it, ast.Call)]
        reads = sum(
            isinstance(it, ast.Name) and it.id == name and isinstance(it.ctx, ast.Load)
            for it in other.walk()
        )
        of_it = [it for it in calls if _is_statistic(module, it) and _is_of(it, name)]
        if reads > len(of_it):
            return set()
        found |= {called_name(it) for it in of_it}
    return found


def _statements_of(module: SourceModule, statement: Statement) -> Iterator[Statement]:
    return (it for it in module.statements if it.function is statement.function)


def _is_of(call: ast.Call, name: str) -> bool:
    """Tell ``np.mean(x)`` and ``x.mean()`` of the variable ``x``."""
    given = [*call.args[:1], *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    return any(isinstance(it, ast.Name) and it.id == name for it in given)


def _containers(calls: Sequence[ast.Call]) -> Iterator[ast.expr]:
    """Yield what the calls are given, or are methods of, and what comprehensions in them go through; nothing with an index."""
    for call in calls:
        parts = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        for part in parts:
            if isinstance(part, Comprehension) and len(part.generators) == 1:
                yield part.generators[0].iter
            elif operand_of(part) is not None:
                yield part


def _is_history(module: SourceModule, container: ast.expr, value: Value) -> bool:
    """Tell whether it was seen to grow, or is long and is added to again and again."""
    if not value.is_container or (value.length or 0) < FEWEST:
        return False
    return (
        value.grows()
        or value.type.endswith("deque")
        or ast.unparse(container) in _only_added_to(module)
    )


@lru_cache(maxsize=256)
def _only_added_to(module: SourceModule) -> frozenset[str]:
    return frozenset(it.container for it in additions(module))
