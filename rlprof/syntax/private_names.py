"""Arrays and containers that share memory with nothing else: made by their own assignments, and handed to nobody who could keep them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Final, TypeGuard

from rlprof.syntax.ancestors import parents
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import Function, SourceModule, called_name
from rlprof.syntax.nodes import assigned, reads_of
from rlprof.syntax.pure_calls import (
    draws_at_random,
    hardly_works,
    is_built_in,
    is_computing_method,
    is_in_place,
    makes,
    only_computes,
)

_MAY_SHARE: Final = re.compile(
    r".*\b(as\w*array|as_tensor|from_numpy|frombuffer|ravel|reshape|atleast_\w+|squeeze|transpose|swapaxes|moveaxis|broadcast_\w+|"
    r"expand_dims|\w*split|diagonal|view\w*|flip\w*|rot90|real|imag|zip_longest|chain|islice|tee)"
)
"""Functions of libraries whose result may be the same memory in another shape."""
_KEEPS: Final = re.compile(
    r"list|tuple|dict|set|frozenset|zip|enumerate|map|filter|reversed|sorted|iter|next|min|max|slice"
)
"""Built-in functions whose result may be, or hold, an element of what they are given."""
_VIEWS: Final = re.compile(r"T|mT|real|imag")
_TELLS: Final = re.compile(r"shape|ndim|dtype|size|device|nbytes")


def is_private(
    modules: Sequence[SourceModule],
    module: SourceModule,
    function: Function | None,
    variable: str,
    attributes: Sequence[str],
) -> bool:
    """Tell whether a variable of ``function``, or of the file outside of all, or an attribute of the function's object (one name), is private;
    an attribute, and a variable of the file, by its name alone in all that may name it.
    """
    if len(attributes) > 1:
        return False
    if attributes:
        return function is not None and all(
            _is_private_attribute(each, attributes[0]) for each in modules
        )
    if function is None:
        return _is_private_in(module, module.tree, variable, is_attribute=False)
    if variable in {
        argument.arg for argument in ast.walk(function.node.args) if isinstance(argument, ast.arg)
    }:
        return False
    return _is_private_in(module, function.node, variable, is_attribute=False)


@lru_cache(maxsize=1024)
def _is_private_attribute(module: SourceModule, name: str) -> bool:
    return _is_private_in(module, module.tree, name, is_attribute=True)


def _is_private_in(module: SourceModule, scope: ast.AST, name: str, *, is_attribute: bool) -> bool:
    values = 0
    stores = 0
    for node in ast.walk(scope):
        for assignment in assigned(node):
            if _is_it(assignment.target, name, is_attribute=is_attribute):
                if assignment.is_unpacked or not makes(assignment.value, ()):
                    return False
                values += 1
        if _is_it(node, name, is_attribute=is_attribute):
            if isinstance(node.ctx, ast.Load):
                if not _is_absorbed(module, node, is_attribute, {name}):
                    return False
            else:
                stores += 1
                parent = parents(module).get(node)
                values += isinstance(parent, ast.AugAssign)
    return stores == values


def _is_it(node: ast.AST, name: str, *, is_attribute: bool) -> TypeGuard[ast.Name | ast.Attribute]:
    if is_attribute:
        return isinstance(node, ast.Attribute) and node.attr == name
    return isinstance(node, ast.Name) and node.id == name


def _is_absorbed(
    module: SourceModule, node: ast.AST, is_attribute: bool, followed: Set[str]
) -> bool:
    """Tell whether what is read there only goes into something that is computed anew; a part of it that has a name of its own does, too,
    but for the names that are ``followed``.
    """
    known = parents(module)
    while True:
        parent = known.get(node)
        match parent:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.FormattedValue() | ast.Expr():
                return True
            case ast.AugAssign():
                return True
            case ast.Return():
                return not is_attribute
            case ast.Subscript(value=of) if of is not node:
                return True
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                return True
            case ast.Tuple() if isinstance(known.get(parent), ast.Subscript):
                node = parent
            case ast.List() | ast.Tuple() if isinstance(known.get(parent), ast.Call):
                node = parent
            case ast.Subscript():
                node = parent
            case ast.Attribute(attr=attr):
                call = known.get(parent)
                if not isinstance(call, ast.Call) or call.func is not parent:
                    if _VIEWS.fullmatch(attr) is None:
                        return _TELLS.fullmatch(attr) is not None
                    node = parent
                    continue
                if is_in_place(attr) or (is_computing_method(attr) and not hardly_works(call)):
                    return True
                if not is_computing_method(attr):
                    return False
                node = call
            case ast.Call() | ast.keyword():
                call = known.get(parent) if isinstance(parent, ast.keyword) else parent
                if not isinstance(call, ast.Call):
                    return False
                return _computes_anew(module, call)
            case ast.Assign(targets=[ast.Name(id=name)]) if not is_attribute:
                return name in followed or _are_absorbed(module, parent, name, {*followed, name})
            case _:
                return False


def _are_absorbed(module: SourceModule, assignment: ast.AST, name: str, followed: Set[str]) -> bool:
    """The same of all that reads ``name`` in the function of an ``assignment`` to it."""
    known = parents(module)
    scope = assignment
    while not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        scope = known[scope]
    return all(
        _is_absorbed(module, node, False, followed) for node in reads_of(name, ast.walk(scope))
    )


def _computes_anew(module: SourceModule, call: ast.Call) -> bool:
    full = full_name(call.func, module.imports)
    if full:
        computes = only_computes(full) or draws_at_random(full)
        return computes and _MAY_SHARE.fullmatch(full) is None
    name = called_name(call)
    is_plain = isinstance(call.func, ast.Name) and is_built_in(name)
    return (is_plain and _KEEPS.fullmatch(name) is None) or name == "print"
