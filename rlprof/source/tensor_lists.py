"""Statements that make a tensor of a list, item by item: by the values that were seen there, or by the text."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.imports import TORCH, root_name
from rlprof.syntax.module import PARSED_FILES, SourceModule, Statement, called_name, parse
from rlprof.syntax.nodes import assigned

_LISTS: Final = frozenset({"list", "tuple"})
_MAKES: Final = frozenset(
    {"tensor", "as_tensor", "new_tensor", "Tensor", "FloatTensor", "LongTensor", "BoolTensor"}
)
_CHEAP: Final = frozenset(
    {
        "to",
        "float",
        "long",
        "bool",
        "unsqueeze",
        "squeeze",
        "view",
        "reshape",
        "len",
        "append",
        "int",
    }
)
"""Calls on such a line that take a microsecond, whatever the list."""

_STACKS: Final = frozenset({"stack", "cat", "concat", "concatenate", "vstack", "hstack"})

LONG: Final = 64
"""Tensors in a list from which on putting it together takes more than a call: some 0.1 µs each."""

FEW: Final = 4
"""Items of a list that is written out, up to which making an array first gains nothing."""


class TensorOfList(NamedTuple):
    """One such statement."""

    name: str
    """Value that is made into a tensor, as written."""
    is_alone: bool
    """True if nothing else is called on its lines that takes time."""
    is_seen: bool = False
    """True if a look has told that it is a list."""
    is_stacked: bool = False
    """True if it is a long list of tensors that are put together."""
    plain: int = 0
    """Numbers of Python's that it was seen to hold; 0 where it holds numpy's or tensors, or nobody saw."""


@lru_cache(maxsize=PARSED_FILES)
def tensors_of_lists(text: str) -> Mapping[int, TensorOfList]:
    """The statements by line number; empty when ``text`` cannot be read."""
    module = parse(text)
    if module is None or "torch" not in text:
        return {}
    found: dict[int, TensorOfList] = {}
    for statements in module.by_function():
        lists = _lists(statements)
        for statement in statements:
            made = _made(statement, lists)
            if made is not None:
                beside = _calls_beside(statement, module)
                made = made._replace(is_alone=made.is_alone and not beside)
                found |= dict.fromkeys(statement.lines, made)
    return found


def _calls_beside(statement: Statement, module: SourceModule) -> set[str]:
    """Last names of what other statements on its lines call."""
    others = (
        other
        for line in statement.lines
        for other in module.statements_at(line)
        if other is not statement
    )
    return {called_name(node) for other in others for node in other.calls()} - _CHEAP


def _made(statement: Statement, lists: frozenset[str]) -> TensorOfList | None:
    calls = list(statement.calls())
    makers = [
        call
        for call in calls
        if called_name(call) in _MAKES
        and root_name(call.func) in TORCH
        and call.args
        and _is_long_list(call.args[0], lists)
    ]
    if not makers:
        return None
    others = {called_name(call) for call in calls if call not in makers} - _CHEAP
    return TensorOfList(ast.unparse(makers[0].args[0])[:60], not others)


def tensor_of_seen_list(statement: Statement, known: Mapping[str, Value]) -> TensorOfList | None:
    """The same by the values that were seen there, whatever the names; None where they tell of no list."""
    calls = list(statement.calls())
    for call in calls:
        given = call.args and value_of(call.args[0], known)
        if not given or not _makes_a_tensor(call.func, value_of(call.func, known)):
            continue
        if given.type in _LISTS and (given.length or 0) > FEW:
            others = {called_name(other) for other in calls if other is not call} - _CHEAP
            what = f"{ast.unparse(call.args[0])[:60]}, a {given.in_words()}"
            # Each of numpy's numbers is asked by torch what it is, as an array is.
            plain = 0 if given.items.startswith(("numpy.", "torch.")) else given.leaves
            return TensorOfList(what, not others, is_seen=True, plain=plain)
    return None


def stacked_list(statement: Statement, known: Mapping[str, Value]) -> TensorOfList | None:
    """Return the long list of tensors that a statement was seen to put together; None where there is none."""
    calls = list(statement.calls())
    stacks = {
        id(call): given
        for call in calls
        if call.args
        and (callee := value_of(call.func, known)) is not None
        and _is_torchs(callee, _STACKS)
        and (given := value_of(call.args[0], known)) is not None
        and given.type in _LISTS
        and given.items == "torch.Tensor"
        and (given.length or 0) >= LONG
    }
    if not stacks:
        return None
    others = {called_name(call) for call in calls if id(call) not in stacks} - _CHEAP
    first = next(call for call in calls if id(call) in stacks)
    what = f"{ast.unparse(first.args[0])[:60]}, a {stacks[id(first)].in_words()}"
    return TensorOfList(what, not others, is_seen=True, is_stacked=True)


def _makes_a_tensor(called: ast.expr, callee: Value | None) -> bool:
    if callee is None:
        # Tensors alone have a method of this name: their owner may be a property, which nobody looks at.
        return isinstance(called, ast.Attribute) and called.attr == "new_tensor"
    return _is_torchs(callee, _MAKES)


def _is_torchs(callee: Value, names: Collection[str]) -> bool:
    name = callee.function or callee.made
    return name.startswith("torch.") and name.rpartition(".")[2] in names


def _is_long_list(argument: ast.expr, lists: frozenset[str]) -> bool:
    if isinstance(argument, ast.List):
        return len(argument.elts) > FEW
    return isinstance(argument, ast.ListComp) or ast.unparse(argument) in lists


def _lists(statements: Iterable[Statement]) -> frozenset[str]:
    """Names that hold lists in one function: made as one there, or added to there."""
    names: set[str] = set()
    for statement in statements:
        node = statement.node
        if isinstance(node, ast.Assign):
            names.update(
                ast.unparse(assignment.target)
                for assignment in assigned(node)
                if isinstance(assignment.value, ast.List | ast.ListComp)
            )
        for call in statement.walk():
            match call:
                case ast.Call(func=ast.Attribute(value=container, attr="append")):
                    names.add(ast.unparse(container))
    return frozenset(names)


def seen_tensor_lines(module: SourceModule, file: str, values: Values) -> frozenset[int]:
    """The lines of a file at which such a list was seen."""
    if not values.has(file):
        return frozenset()
    return frozenset(
        line
        for statement in module.statements
        if tensor_of_seen_list(statement, values.of(file, statement))
        for line in statement.lines
    )
