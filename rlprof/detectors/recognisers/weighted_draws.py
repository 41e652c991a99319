"""Draws by odds that go through all of them, and the statements that make these odds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from rlprof.detectors.recognisers.long_lists import OnList
from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import SourceModule, Statement, called_name, variables_read

DRAWN: Final = SlowCall(
    "choice(p=...) goes through all probabilities",
    "Keep the priorities in a sum tree, in which a draw and a change take some steps however many there are. Or draw by "
    "np.searchsorted(np.cumsum(p), rng.random(k)), without the checks that choice makes.",
    # 64 draws from 1 000 to 100 000: the second leaves 0.47 to 0.49 (benchmarks/replaced_calls.py, numpy 2.4).
    Range(0.45, 0.95),
)

_MOST_STEPS_TO_ODDS: Final = 4
"""Assignments between the priorities and the odds."""
_OF_ODDS: Final = (ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.expr_context, ast.Subscript, ast.Slice)  # fmt: skip
_LONG_TO_DRAW: Final = 1_000
"""Probabilities, each of which takes some ns to add up and to check."""


def drawn_by_odds(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return the draw of ``statement``, or the odds that it makes for one."""
    for call in _draws(statement):
        if seen := _drawn(call, known):
            return OnList(DRAWN, seen, calls=1)
    seen = _made_to_draw_from(statement, known, module)
    # One way to draw needs the odds all the same, so that less of their time may go than of the draw's.
    return OnList(DRAWN, seen, calls=None) if seen else None


def _draws(statement: Statement) -> Iterator[ast.Call]:
    for node in statement.calls():
        if called_name(node) == "choice":
            yield node


def _drawn(call: ast.Call, known: Mapping[str, Value]) -> str:
    """The probabilities in words, where they were seen to be many."""
    for keyword in call.keywords:
        value = value_of(keyword.value, known) if keyword.arg == "p" else None
        if value is not None and (value.numbers or 0) >= _LONG_TO_DRAW:
            return f"{ast.unparse(keyword.value)}: {value.in_words()}"
    return ""


def _made_to_draw_from(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> str:
    """The array in words, where all that the statement does is to make of it the odds of a draw in the same function: what a sum tree has
    no need of.
    """
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=made):
            pass
        case _:
            return ""
    if not all(isinstance(part, _OF_ODDS) for part in ast.walk(made)):
        return ""
    own = module.of_function(statement.function)
    odds = {
        word.value.id
        for other in own
        for call in _draws(other)
        for word in call.keywords
        if word.arg == "p" and isinstance(word.value, ast.Name)
    }
    for _ in range(_MOST_STEPS_TO_ODDS):
        for other in own:
            match other.node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target in odds:
                    odds |= variables_read(value)
    if name not in odds:
        return ""
    for part in ast.walk(made):
        operand = part if isinstance(part, ast.Name | ast.Attribute) else None
        seen = value_of(operand, known) if operand is not None else None
        if operand is not None and seen is not None and (seen.numbers or 0) >= _LONG_TO_DRAW:
            return f"{ast.unparse(operand)}: {seen.in_words()}"
    return ""
