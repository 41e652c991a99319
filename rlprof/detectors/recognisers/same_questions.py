"""Networks that a function asks for the same, twice: nothing has changed in between, and the first answer could be kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines
from rlprof.source.values import Value, Values, value_of
from rlprof.syntax.assignments import single_targets, targets_of
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.operands import operand_of
from rlprof.syntax.writes import changed_by

_RANDOM: Final = re.compile(
    r"[/\\]torch[/\\]nn[/\\]modules[/\\](dropout|batchnorm)\.py$|[/\\]torch[/\\]distributions[/\\]"
)
"""Layers that answer otherwise each time, or keep what they were asked."""
_CHANGES_NETWORKS: Final = frozenset(
    {"step", "load_state_dict", "train", "eval", "update", "learn", "fit", "requires_grad_", "copy_", "apply", "to", "reset_parameters"}
)  # fmt: skip
"""Methods after which a network may answer otherwise."""


class Question(NamedTuple):
    """A network, and what it is given, as written."""

    network: str
    given: str


@dataclass(slots=True)
class SameQuestion:
    """A line that asks what an earlier one has asked."""

    place: Line
    question: Question
    first_line: int
    of_line: float
    """Part of the line's networks' time that such calls take: all of it, or one of two on one line."""
    nodes: set[int] = field(default_factory=set)


class _AskedThere(NamedTuple):
    question: Question
    statement: Statement


class SameQuestions:
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._tree = profile.steady
        self._lines = lines
        self._values = Values(profile.values)

    def found(self) -> list[SameQuestion]:
        found: dict[Line, SameQuestion] = {}
        known: dict[tuple[str, int], tuple[Question, int, float] | None] = {}
        for node in self._tree.hot_nodes() if self._values else ():
            frame = self._tree.frame(node)
            if not self._lines.is_yours(frame) or not self._values.has(frame.file):
                continue
            key = (frame.file, frame.line)
            if key not in known:
                known[key] = self._again(frame.file, frame.line)
            told = known[key]
            work = set(self._work_at(node)) if told is not None else set()
            if told is None or any(_RANDOM.search(self._tree.frame(it).file) for it in work):
                continue
            line = self._lines.line(node)
            found.setdefault(line, SameQuestion(line, *told)).nodes.update(work)
        return list(found.values())

    def _work_at(self, node: int) -> Iterator[int]:
        """Yield what runs below a line of the user's: the line's own statement is little beside a network."""
        for child in self._tree.children(node):
            yield from self._tree.subtree(child)

    def _again(self, file: str, line: int) -> tuple[Question, int, float] | None:
        """Return the question of a line that was asked before in its function, where it was, and how much of the line is so."""
        module = self._lines.module(file)
        statements = module.statements_at(line) if module is not None else ()
        if module is None or len(statements) != 1:
            return None
        known = self._values.of(file, statements[0])
        asked = [Question(*it) for it in _questions(statements[0], known)]
        others = _calls_of_networks(statements[0], known)
        for question in dict.fromkeys(asked):
            times = asked.count(question)
            before = _asked_before(module, statements[0], question)
            part = (times if before is not None else times - 1) / max(1, others)
            if part > 0:
                return question, before.first_line if before else line, part
        return None


def _calls_of_networks(statement: Statement, known: Mapping[str, Value]) -> int:
    return sum(
        isinstance(node, ast.Call) and _is_network(node.func, known) for node in statement.walk()
    )


def _is_network(callee: ast.expr, known: Mapping[str, Value]) -> bool:
    value = value_of(callee, known)
    return value is not None and value.is_network


def _questions(
    statement: Statement, known: Mapping[str, Value] | None
) -> Iterator[tuple[str, str]]:
    """Yield the calls of networks that are given names alone; of all that is called where nothing is ``known``."""
    for node in statement.walk():
        if not isinstance(node, ast.Call) or operand_of(node.func) is None:
            continue
        if known is not None and not _is_network(node.func, known):
            continue
        words = [*node.args, *_values(node)]
        if words and all(operand_of(it) is not None for it in words):
            given = ", ".join(map(ast.unparse, (*node.args, *node.keywords)))
            yield ast.unparse(node.func), given


def _values(call: ast.Call) -> list[ast.expr]:
    return [it.value for it in call.keywords]


def _asked_before(
    module: SourceModule, statement: Statement, question: Question
) -> Statement | None:
    """Return the statement of the same function that has asked it, and has run whenever this one does, nothing between them changing the answer."""
    own = [it for it in module.statements if it.function is statement.function]
    at = own.index(statement)
    for number in range(at - 1, -1, -1):
        other = own[number]
        if tuple(question) in set(_questions(other, None)):
            between = own[number:at]
            is_sure = _runs_first(module, other, statement)
            return other if is_sure and _leaves(between, question) else None
    return None


def _runs_first(module: SourceModule, first: Statement, second: Statement) -> bool:
    """Tell whether the first has run, in the same turn of the same loops, whenever the second does."""
    given = set(map(id, second.conditions))
    loops = [set(map(id, module.loops_around(it.first_line))) for it in (first, second)]
    in_whiles = first.in_loop == second.in_loop
    return all(id(it) in given for it in first.conditions) and loops[0] == loops[1] and in_whiles


def _leaves(statements: Sequence[Statement], question: Question) -> bool:
    """Tell whether none of ``statements`` assigns or changes what the answer depends on."""
    names = {*_roots(question), question.network}
    for statement in statements:
        assigned = {ast.unparse(it) for it in single_targets(*targets_of(statement.node))}
        loops = [statement.node.target] if isinstance(statement.node, ast.For) else []
        assigned |= {ast.unparse(it) for it in single_targets(*loops)}
        if not names.isdisjoint(assigned):
            return False
        for node in statement.walk():
            if isinstance(node, ast.Call) and called_name(node) in _CHANGES_NETWORKS:
                return False
    changed = {text for text in changed_by(statements) if text}
    return not any(_is_of(name, text) for name in names for text in changed)


def _roots(question: Question) -> Collection[str]:
    """The names that it is given, and those that they belong to."""
    given = ast.parse(f"f({question.given})", mode="eval").body
    return {
        ast.unparse(it)
        for it in ast.walk(given)
        if isinstance(it, ast.Name | ast.Attribute | ast.Subscript) and ast.unparse(it) != "f"
    }


def _is_of(name: str, text: str) -> bool:
    return name == text or name.startswith((f"{text}.", f"{text}[")) or text.startswith(f"{name}.")
