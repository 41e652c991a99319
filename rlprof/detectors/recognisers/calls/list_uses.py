"""Tell what else a program does with a list: keeps it in order, makes an array of it, goes through it, makes it anew."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from rlprof.syntax.imports import ARRAY_MODULES, root_name
from rlprof.syntax.made_anew import COPIES, value_before
from rlprof.syntax.module import Comprehension, SourceModule, Statement, called_name
from rlprof.syntax.nodes import nodes_in, owner_of

_PUTS_IN_ORDER: Final = frozenset({"insort", "insort_left", "insort_right"})
_GOES_THROUGH: Final = frozenset({"enumerate", "len", "reversed", "sorted", "zip"})
_AS_IT_WAS: Final = COPIES | {"list", "tuple", "sorted"}
"""Calls that give the elements of another container."""


def is_kept_in_order(container: ast.expr, statement: Statement, module: SourceModule) -> bool:
    """Tell whether it is sorted in place, or elements are put where they belong: ``bisect.insort(events, event)``."""
    return any(
        (called_name(call) == "sort" and _are_it(owner_of(call), container))
        or (called_name(call) in _PUTS_IN_ORDER and _are_it(call.args[:1], container))
        for other in _near(container, statement, module)
        for call in other.calls()
    )


def is_made_an_array(container: ast.expr, statement: Statement, module: SourceModule) -> bool:
    """Tell whether all of it is made an array about as often as the statement runs: of a deque that takes longer."""
    return any(
        root_name(call.func) in ARRAY_MODULES and _are_it(call.args[:1], container)
        for other in _near(container, statement, module)
        if set(other.conditions) <= set(statement.conditions)
        for call in other.calls()
    )


def is_only_gone_through(name: str, statement: Statement, module: SourceModule) -> bool:
    """Tell whether loops go through a variable, and nothing picks from it."""
    own = [other.node for other in module.of_function(statement.function)]
    gone_through: set[ast.expr] = set()
    read: set[ast.expr] = set()
    for node in nodes_in(*own):
        match node:
            case ast.For(iter=through) | ast.comprehension(iter=through):
                gone_through.add(through)
            case ast.Call(func=ast.Name(id=function)) if function in _GOES_THROUGH:
                gone_through.update(node.args)
            case ast.Name(id=other, ctx=ast.Load()) if other == name:
                read.add(node)
    return bool(read) and read <= gone_through


def is_new_for_its_search(
    container: ast.expr, search: ast.AST, statement: Statement, module: SourceModule
) -> bool:
    """Tell whether the list was made since it was searched last, so that a set of it has to be made as often: ``legal = env.legal()``."""
    is_again = isinstance(statement.node, ast.While) or any(
        isinstance(node, Comprehension) and search in ast.walk(node) for node in statement.walk()
    )
    value = None if is_again else value_before(container, statement, module)
    match value:
        case ast.Call() if called_name(value) not in _AS_IT_WAS:
            return not _gives_what_is_kept(called_name(value), module)
        case ast.ListComp() | ast.List() | ast.BinOp():
            return True
    return False


def _gives_what_is_kept(function: str, module: SourceModule) -> bool:
    """Tell whether a function of the file returns what an object keeps."""
    return any(
        isinstance(statement.node, ast.Return)
        and isinstance(statement.node.value, ast.Attribute | ast.Subscript)
        for statement in module.statements
        if statement.function is not None and statement.function.node.name == function
    )


def _near(container: ast.expr, statement: Statement, module: SourceModule) -> Iterable[Statement]:
    """The statements in which its name stands for the same: of an attribute, all of the file."""
    if isinstance(container, ast.Attribute):
        return module.statements
    return module.of_function(statement.function)


def _are_it(expressions: Iterable[ast.expr], container: ast.expr) -> bool:
    return any(ast.unparse(each) == ast.unparse(container) for each in expressions)
