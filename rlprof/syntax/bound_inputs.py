"""Inputs of a function in the words of who calls it: ``obs`` of ``basis(obs)`` for ``x`` of ``def basis(x)``."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeGuard

from rlprof.syntax.dependencies import assigned_by
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import PARSED_FILES, Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import (
    arguments_of,
    assigned_to,
    defaults_of,
    given_to,
    is_decorated,
    owner_of,
    positional_of,
)
from rlprof.syntax.operands import Operand, operand_of, steps_to
from rlprof.syntax.pure_calls import hardly_works, is_of_computing, only_computes

_ANSWERS_CALLS: Final = "__call__"
_OF_NETWORKS: Final = "forward"
"""The method that torch calls for that of a network."""


class _TooLongError(Exception):
    """A chain of attributes is too long for an operand."""


class BoundCall(NamedTuple):
    """The call of a function, and what the function depends on, as it is given there."""

    statement: Statement
    node: ast.expr
    """The call, or the attribute where the function is a property."""
    inputs: tuple[Operand, ...]

    @property
    def name(self) -> str:
        """The last name of what is called: ``basis`` of ``self.basis(obs)``."""
        called = self.node.func if isinstance(self.node, ast.Call) else self.node
        return called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)


def bound_inputs(
    module: SourceModule, line: int, function: Function, inputs: Collection[Operand]
) -> BoundCall | None:
    """Return the one call of ``function`` on ``line`` of ``module``, with ``inputs`` as it gives them.

    None where no such call is found, several are, what one of them is given has to be computed first, or a name of the file has another
    value in the function that calls.
    """
    calls = [
        (statement, node)
        for statement in module.statements_at(line)
        for node in statement.walk()
        if _calls(node, function, statement)
    ]
    if len(calls) != 1:
        return None
    statement, call = calls[0]
    given = arguments_given(module, call, function)
    if given is None:
        return None
    names = set(arguments_of(function.node))
    around = statement.function
    own_names = assigned_by(around).union(arguments_of(around.node)) if around else frozenset()
    found: dict[Operand, None] = {}
    for operand in inputs:
        root, *rest = operand.steps
        if root not in names:
            if root in own_names:
                return None
            found[operand] = None
        elif root in given:
            own = _operands(module, given[root], rest)
            if own is None:
                return None
            found |= dict.fromkeys(own)
        elif not isinstance(defaults_of(function.node.args).get(root), ast.Constant | ast.UnaryOp):
            return None
    return BoundCall(statement, call, tuple(found))


def at_entry(
    module: SourceModule, function: Function, inputs: Collection[Operand]
) -> tuple[Operand, ...] | None:
    """Return ``inputs`` in terms of what ``function`` is called with: of a variable that is made of arguments (``obs, actions = batch``)
    those. None where one is made in another way.
    """
    own = assigned_by(function)
    arguments = arguments_of(function.node)
    found: dict[Operand, None] = {}
    for operand in inputs:
        if operand.steps[0] not in own:
            found[operand] = None
            continue
        value = only_value(function, operand.steps[0])
        made_of = _operands(module, value, ()) if value is not None else None
        if not made_of or any(each.steps[0] not in arguments for each in made_of):
            return None
        found |= dict.fromkeys(made_of)
    return tuple(found)


def _calls(node: ast.AST, function: Function, statement: Statement) -> TypeGuard[ast.expr]:
    name = function.node.name
    if isinstance(node, ast.Call):
        if name != _ANSWERS_CALLS:
            return called_name(node) == name
        return sum(1 for _ in statement.calls()) == 1
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and is_decorated(function.node, "property")
    )


def arguments_given(
    module: SourceModule, call: ast.expr, function: Function
) -> Mapping[str, ast.expr] | None:
    """Return what each argument is given; those that keep their default are left out, and what ``*args`` and ``**options`` gather."""
    node = function.node
    names = positional_of(node)
    by_name = {*names, *(each.arg for each in node.args.kwonlyargs)}
    given: dict[str, ast.expr] = {}
    if function.class_name and not function.is_static:
        owner = _owner(call, function)
        # ``Base.features(self, obs)``, and a method under another name, give the object in other ways.
        if owner is None or not names or ast.unparse(owner) in _classes(module):
            return None
        given[names.pop(0)] = owner
    if not isinstance(call, ast.Call):
        return given
    for position, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            given |= dict.fromkeys(names[position:], argument.value)
            break
        if position < len(names):
            given[names[position]] = argument
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        if keyword.arg in by_name or node.args.kwarg is None:
            given[keyword.arg] = keyword.value
    return given


def _owner(call: ast.expr, function: Function) -> ast.expr | None:
    """The object whose method is called."""
    if isinstance(call, ast.Call):
        name = function.node.name
        if name == _ANSWERS_CALLS or (name == _OF_NETWORKS and called_name(call) != name):
            return call.func
        call = call.func
    return call.value if isinstance(call, ast.Attribute) else None


@lru_cache(maxsize=PARSED_FILES)
def _classes(module: SourceModule) -> frozenset[str]:
    own = (node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return frozenset(own) | {"super()", "cls", "type(self)", *module.imports}


def _operands(module: SourceModule, value: ast.expr, rest: Collection[str]) -> list[Operand] | None:
    """Return the operands that ``value`` is made of; with the steps ``rest`` after it where it is one operand. None where a call computes it."""
    whole = operand_of(value)
    if whole is not None:
        return [Operand("".join((whole.text, *map(_written, rest))), (*whole.steps, *rest))]
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and not (
            hardly_works(node) or only_computes(full_name(node.func, module.imports))
        ):
            return None
        if isinstance(node, ast.Lambda | ast.NamedExpr | ast.Await):
            return None
    try:
        return list(_chains(module, value))
    except _TooLongError:
        return None


def _written(step: str) -> str:
    """A step as it stands in the source: two items of one list are two operands, and neither is the list."""
    if step.startswith("."):
        return step
    return f"[{step[1:]}]" if step.startswith("i") else f"[{step[1:]!r}]"


def _chains(module: SourceModule, node: ast.AST) -> Iterator[Operand]:
    if isinstance(node, ast.expr) and steps_to(node):
        operand = operand_of(node)
        if operand is None:
            raise _TooLongError
        if not is_of_computing(full_name(node, module.imports)):
            yield operand
        return
    if isinstance(node, ast.Call):
        # The name of a method is none of its object's attributes.
        inner = owner_of(node)
        children: list[ast.AST] = [
            *inner,
            *given_to(node),
        ]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from _chains(module, child)


def values_assigned(
    module: SourceModule, function: Function | None, name: str
) -> Sequence[ast.expr]:
    """Return all that ``function`` assigns to a variable; for None what the file itself does, outside of functions."""
    nodes = (statement.node for statement in module.of_function(function))
    return [each.value for each in assigned_to(name, nodes)]


def only_value(function: Function, name: str) -> ast.expr | None:
    """Return the value of a variable that is assigned once, of tuples that are written out its own item; None for one of a loop, or that is added to."""
    nodes = list(ast.walk(function.node))
    stores = [
        node
        for node in nodes
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    plain = (node for node in nodes if isinstance(node, ast.Assign))
    values = [each.value for each in assigned_to(name, plain)]
    return values[0] if len(stores) == 1 == len(values) else None
