"""Arrays and tensors that are sorted whole, though only a few of the order are taken, or ranked by a function of Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from rlprof.detectors.recognisers.calls.long_lists import OnList
from rlprof.libraries.base import SlowCall
from rlprof.model.finding import Range
from rlprof.source.value import Value
from rlprof.source.values import callee, value_of
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
    receiver,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import items_of, names_in, reads_of, stores_of

SORTED_FOR_FEW: Final = SlowCall(
    "a whole array is sorted for a few of it",
    "torch.topk(values, k) finds the k largest without sorting the others, np.argpartition(values, -k)[-k:] their places; sort those k, where their "
    "order counts.",
    # benchmarks/replaced_calls.py: of 2 000 and 20 000 numbers np.argpartition leaves 0.38 and 0.18, and of rows of 5 000 torch.topk 0.33.
    Range(0.5, 0.95),
)

RANKED: Final = SlowCall(
    "an array is ranked by a function of Python",
    "np.argsort(array) ranks all of its numbers in C, np.argpartition finds the k largest, np.argmax the largest.",
    # Of 256 to 6 000 numbers 0.07 to 0.12 is left, of the largest of them 0.004 to 0.06 (benchmarks/replaced_calls.py).
    Range(0.85, 0.99),
)

NUCLEUS: Final = SlowCall(
    "a whole vocabulary is sorted for a nucleus",
    "Where top_p is 1, leave that out: nothing is dropped then. Else find the few hundred likeliest first (logits.topk(256)), add up and cut those, and drop "
    "all others.",
    # benchmarks/replaced_calls.py: of rows of 1 000, 4 096 and 32 000 numbers topk(256) leaves 0.40, 0.17 and 0.08.
    Range(0.5, 0.98),
)

_LONG_TO_RANK: Final = 256
"""Numbers, for each of which a function is called."""
_RANKS: Final = frozenset({"sorted", "min", "max"})
_OF_RANKS: Final = (ast.Name, ast.Attribute, ast.Subscript, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.Constant, ast.expr_context, ast.Call)  # fmt: skip
_FEWEST: Final = 1_000
"""Numbers in a row from which on that is told."""
_SORTS: Final = frozenset({"sort", "argsort"})
_PARTS: Final = frozenset({"values", "indices"})
"""Attributes of what torch.sort gives."""


def sorted_whole(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return the sort of ``statement``, where it, or what follows, takes a few from an end of it, or adds up what it gives, in its order, for the
    likeliest that make up a part of all.
    """
    for call in statement.calls():
        given = _sorted_by(call, known, module)
        whole = _largest_in(given, known) if given is not None else None
        if whole is None or not whole.shape or whole.shape[-1] < _FEWEST:
            continue
        takes_few = any(_takes_few(node, call) for node in statement.walk())
        if takes_few or _is_cut(statement, call, module):
            return OnList(SORTED_FOR_FEW, whole.in_words(), calls=1)
        if _is_added_up(statement, module):
            return OnList(NUCLEUS, whole.in_words(), calls=1)
    return None


def _is_added_up(statement: Statement, module: SourceModule) -> bool:
    """Tell whether ``cumsum`` is called for what a statement assigns, or for what is made of that."""
    made = variables_assigned(statement.node)
    for later in module.of_function(statement.function):
        if later.first_line <= statement.first_line or made.isdisjoint(variables_read(later.node)):
            continue
        if any(called_name(call) == "cumsum" for call in later.calls()):
            return True
        made |= variables_assigned(later.node)
    return False


def _sorted_by(call: ast.Call, known: Mapping[str, Value], module: SourceModule) -> ast.expr | None:
    """Return what a call sorts: ``torch.sort(x)``, ``np.argsort(x)``, ``x.argsort()``."""
    if called_name(call) not in _SORTS:
        return None
    package = callee(call, known, module).name.partition(".")[0]
    if package in ("torch", "numpy") and call.args:
        return call.args[0]
    owner = receiver(call)
    seen = value_of(owner, known) if owner is not None else None
    return owner if seen is not None and seen.is_array else None


def _largest_in(given: ast.expr, known: Mapping[str, Value]) -> Value | None:
    """Return the largest array in what is sorted: ``logits`` in ``logits / temperature``."""
    seen = (value_of(node, known) for node in ast.walk(given) if isinstance(node, ast.expr))
    arrays = [value for value in seen if value is not None and value.is_array]
    return max(arrays, key=lambda value: value.numbers or 0, default=None)


def _takes_few(node: ast.AST, order: ast.expr) -> bool:
    """Tell whether ``node`` takes so many from an end of ``order``: ``order[-k:]``, ``order[:, :k]``, ``order[::-1][:k]``."""
    match node:
        case ast.Subscript(value=of, slice=index):
            last = items_of(index)[-1]
            is_few = isinstance(last, ast.Slice) and last.step is None and _is_an_end(last)
            return is_few and _is_order(of, order)
    return False


def _is_an_end(part: ast.Slice) -> bool:
    match part:
        case ast.Slice(lower=None, upper=ast.Constant() | ast.Name() | ast.Attribute()):
            return True
        case ast.Slice(lower=ast.UnaryOp(op=ast.USub()), upper=None):
            return True
    return False


def _is_order(of: ast.expr, order: ast.expr) -> bool:
    """Tell whether ``of`` is ``order``, the same backwards, or one of its two parts."""
    while True:
        match of:
            case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None)):
                of = inner
            case ast.Attribute(value=inner, attr=name) if name in _PARTS:
                of = inner
            case ast.UnaryOp(operand=inner):
                of = inner
            case _:
                return of is order or ast.dump(of) == ast.dump(order)


def _is_cut(statement: Statement, call: ast.Call, module: SourceModule) -> bool:
    """Tell whether all that is done with the order, kept in variables, is to take a few of it."""
    match statement.node:
        case ast.Assign(targets=[target], value=value) if value is call:
            names = names_in(target)
        case _:
            return False
    later = [
        other
        for other in module.of_function(statement.function)
        if other.first_line > statement.first_line
    ]
    return bool(names) and all(_is_only_cut(name, later) for name in names)


def _is_only_cut(name: str, later: list[Statement]) -> bool:
    """Tell whether a variable is read for its first few alone, until it has another value."""
    variable = ast.Name(name, ast.Load())
    for statement in later:
        uses = reads_of(name, statement.walk())
        cuts = [node for node in statement.walk() if _takes_few(node, variable)]
        if len(uses) != len(cuts):
            return False
        if stores_of(name, statement.walk()):
            return bool(cuts)
    return any(_takes_few(node, variable) for statement in later for node in statement.walk())


def ranked_by_function(statement: Statement, known: Mapping[str, Value]) -> OnList | None:
    """Return the sort of ``statement``, where it asks a function of Python for each number of an array."""
    for array, calls in _ranked(statement):
        if seen := _array(array, known, _LONG_TO_RANK):
            return OnList(RANKED, seen, calls)
    return None


def _ranked(statement: Statement) -> Iterator[tuple[ast.expr, int]]:
    """Yield the arrays by whose items numbers from zero on are ranked, with the calls that belong to that: ``prio`` in
    ``sorted(range(n), key=lambda i: -prio[i])``.
    """
    for call in statement.calls():
        match call:
            case ast.Call(
                func=ast.Name(id=name),
                args=[ast.Call(func=ast.Name(id="range"))],
                keywords=[ast.keyword("key", ast.Lambda(ast.arguments(args=[turn]), body)), *_],
            ) if name in _RANKS and all(isinstance(part, _OF_RANKS) for part in ast.walk(body)):
                for part in ast.walk(body):
                    match part:
                        case ast.Subscript(array, ast.Name(id=index)) if index == turn.arg:
                            yield array, sum(isinstance(n, ast.Call) for n in ast.walk(call))


def _array(written: ast.expr, known: Mapping[str, Value], shortest: int) -> str:
    """The array in words, where it was seen to be a row of as many numbers as ``shortest``; else nothing."""
    value = value_of(written, known)
    if value is None or not value.is_array or len(value.shape or ()) != 1:
        return ""
    is_long = (value.numbers or 0) >= shortest
    return f"{ast.unparse(written)}: {value.in_words()}" if is_long else ""
