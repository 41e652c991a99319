"""Tell what a function, or a value in it, depends on: the operands that it reads, if it does nothing but compute."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from rlprof.syntax.imports import full_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    Statement,
    variables_assigned,
)
from rlprof.syntax.nodes import arguments_of, nodes_in
from rlprof.syntax.operands import Operand, operand_of
from rlprof.syntax.pure_calls import (
    changes_a_heap,
    is_built_in,
    is_changing_method,
    is_computing_method,
    is_of_computing,
    only_computes,
    writes_by_argument,
)
from rlprof.syntax.writes import made_by, with_parts_of_others

_MOST_INPUTS: Final = 12
_MOST_CALLS: Final = 4
"""Functions of the file on the way from one to the next."""

_OF_ARRAYS: Final = re.compile(r"shape|ndim|T|mT|size|real|imag|nbytes|itemsize")
"""Attributes that tell of the array itself."""
_OF_NO_MATTER: Final = ("device", "dtype")
"""Attributes by which a result is the same in another place, or nearly."""

_ALLOWED: Final = (
    ast.expr, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.comprehension, ast.keyword,
    ast.arguments, ast.arg, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Return, ast.Expr,
    ast.Pass, ast.Break, ast.Continue, ast.Assert, ast.Raise, ast.Delete, ast.With, ast.withitem,
)  # fmt: skip
_REFUSED: Final = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)


class _NotPureError(Exception):
    """Code that was read does more than compute."""


@lru_cache(maxsize=4096)
def inputs_of_function(
    module: SourceModule, first_line: int, depth: int = 0
) -> tuple[Operand, ...] | None:
    """Return what the function that begins there depends on; None where it does more than compute. ``depth``: functions of the file on
    the way there.
    """
    return _Reading(module, module.function_at(first_line), depth).of_function()


def inputs_of_value(
    module: SourceModule, value: ast.expr, statement: Statement
) -> tuple[Operand, ...] | None:
    """The same of an expression of a statement."""
    return _Reading(module, statement.function).of_value(value, statement)


class _Reading:
    """Reads one function, or one value in it, and notes what it depends on."""

    def __init__(self, module: SourceModule, function: Function | None, depth: int = 0) -> None:
        """``depth``: functions of the file on the way here."""
        self._module = module
        self._function = function
        self._depth = depth
        self._arguments = arguments_of(function.node) if function else []
        self._names = _names_of(module, function)
        """Names of the file, and of the functions around, which may be those of built-in functions, too."""
        self._own: set[str] = set()
        """Variables that it assigns."""
        self._made: set[str] = set()
        """Variables among these that hold what it has made itself, by each of their assignments."""
        self._wholly_made: set[str] = set()
        """Variables among these, again, whose elements are new, too."""
        self._around: set[str] = set()
        """Variables of a comprehension or a loop around the value: they change from one turn to the next."""
        self._inputs: dict[Operand, None] = {}

    def of_function(self) -> tuple[Operand, ...] | None:
        node = self._function.node if self._function else None
        if self._function is None or not isinstance(node, ast.FunctionDef):
            return None
        if not is_called_as_written(node):
            return None
        if not any(isinstance(inner, ast.Return) and inner.value for inner in ast.walk(node)):
            return None
        self._own = set(assigned_by(self._function))
        self._made = made_by(node, self._own, self._arguments)
        self._wholly_made = self._made - with_parts_of_others(node)
        return self._read_all(node.body)

    def of_value(self, value: ast.expr, statement: Statement) -> tuple[Operand, ...] | None:
        self._own = assigned_in(value)
        loops = self._module.loops_around(statement.first_line)
        around = assigned_in(*statement.expressions()) | variables_assigned(
            *(loop.target for loop in loops)
        )
        self._around = around - self._own
        return self._read_all([value])

    def _read_all(self, nodes: Iterable[ast.AST]) -> tuple[Operand, ...] | None:
        try:
            for node in nodes:
                self._read(node)
        except _NotPureError:
            return None
        return tuple(self._inputs) if len(self._inputs) <= _MOST_INPUTS else None

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, _REFUSED) or not isinstance(node, _ALLOWED):
            raise _NotPureError
        match node:
            case ast.Call():
                self._read_call(node)
                return
            case ast.Name() | ast.Attribute() | ast.Subscript() if self._read_operand(node):
                return
            case ast.Assign(targets=targets):
                for target in targets:
                    self._may_assign(target)
            case ast.AnnAssign(target=target) | ast.For(target=target):
                self._may_assign(target)
            case ast.AugAssign(target=target):
                self._may_change(target)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._may_change(target)
            case ast.withitem(context_expr=context) if not is_no_grad(context):
                raise _NotPureError
        annotation = getattr(node, "annotation", None)
        for child in ast.iter_child_nodes(node):
            if child is not annotation:
                self._read(child)

    def _may_assign(self, target: ast.expr) -> None:
        match target:
            case ast.Name():
                return
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._may_assign(part)
            case ast.Starred(value=value):
                self._may_assign(value)
            case _:
                self._may_change(target)

    def _may_change(self, target: ast.expr) -> None:
        """Refuse where what is changed in place was not made by the function itself."""
        depth = 0
        while isinstance(target, ast.Subscript):
            target, depth = target.value, depth + 1
        made = self._made if depth < 2 else self._wholly_made
        if not isinstance(target, ast.Name) or target.id not in made:
            raise _NotPureError

    def _read_operand(self, node: ast.expr) -> bool:
        """Take in an input; False where the parts of ``node`` have to be read."""
        if isinstance(node, ast.Attribute) and node.attr in _OF_NO_MATTER:
            return True
        node = self._array_of(node)
        root = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if not isinstance(root, ast.Name) or isinstance(root.ctx, ast.Store):
            return isinstance(root, ast.Name) and root is node
        if root.id in self._around:
            raise _NotPureError
        if root.id in self._own and root.id not in self._arguments:
            return root is node
        full = full_name(node, self._module.imports)
        if is_of_computing(full):
            if not only_computes(full):
                raise _NotPureError  # It may be handed on, to be called.
            return True
        if root is node and self._is_built_in(root.id):
            return True
        operand = operand_of(node)
        if operand is not None:
            self._inputs[operand] = None
        return operand is not None

    def _array_of(self, node: ast.expr) -> ast.expr:
        """The array of whose ``shape``, or an item of it, ``node`` tells; else ``node``."""
        inner = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(inner, ast.Attribute) and _OF_ARRAYS.fullmatch(inner.attr):
            owner = inner.value
            if not (
                isinstance(owner, ast.Name)
                and [owner.id] == self._arguments[:1]
                and self._is_method
            ):
                return self._array_of(owner)
        return node

    @property
    def _is_method(self) -> bool:
        return self._function is not None and bool(self._function.class_name)

    def _read_call(self, call: ast.Call) -> None:
        if writes_by_argument(call):
            raise _NotPureError
        for argument in (*call.args, *call.keywords):
            self._read(argument)
        full = full_name(call.func, self._module.imports)
        match call.func:
            case _ if full and call.args and changes_a_heap(full):
                self._may_change(call.args[0])
            case _ if full:
                if not only_computes(full):
                    raise _NotPureError
            case ast.Name(id=name) if unnamed := self._held_function(name):
                self._read_unnamed(unnamed)
            case ast.Name(id=name):
                if name in self._own or name in self._arguments:
                    raise _NotPureError
                if not self._is_built_in(name):
                    self._read_called(name)
            case ast.Attribute(value=owner, attr=name) if is_changing_method(name):
                self._may_change(owner)
            case ast.Attribute(value=owner, attr=name) if is_computing_method(name):
                self._read(owner)
            case ast.Attribute(value=ast.Name(id=owner_name), attr=name) if (
                self._function is not None
                and self._is_method
                and [owner_name] == self._arguments[:1]
            ):
                self._read_called(f"{self._function.class_name}.{name}")
            case _:
                raise _NotPureError

    def _held_function(self, name: str) -> ast.Lambda | None:
        """Return the ``lambda`` that a variable of the function holds, which is assigned once."""
        function = self._function
        if function is None or name in self._arguments or name not in assigned_by(function):
            return None
        named = [node for node in nodes_in(*function.node.body) if isinstance(node, ast.Name)]
        if sum(node.id == name and isinstance(node.ctx, ast.Store) for node in named) > 1:
            return None
        for node in nodes_in(*function.node.body):
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Lambda() as held) if (
                    target == name
                ):
                    return held
        return None

    def _read_unnamed(self, called: ast.Lambda) -> None:
        """Take in what a ``lambda`` depends on; its arguments were read where it is called."""
        if self._depth >= _MOST_CALLS:
            raise _NotPureError  # It may call itself.
        around = self._own, self._arguments
        own = set(arguments_of(called))
        self._own, self._depth = self._own | own, self._depth + 1
        self._arguments = [name for name in self._arguments if name not in own]
        self._read(called.body)
        (self._own, self._arguments), self._depth = around, self._depth - 1

    def _is_built_in(self, name: str) -> bool:
        return is_built_in(name) and name not in self._names

    def _read_called(self, qualname: str) -> None:
        """Take in what a function of the same file depends on; its arguments were read where it is called."""
        own_name = qualname.rpartition(".")[2]
        named = [each for each in self._module.functions if each.node.name == own_name]
        found = [each for each in named if each.qualname == qualname]
        # A class derived from this one may have its own.
        if len(found) != 1 or (found[0].class_name and len(named) > 1):
            raise _NotPureError
        if self._depth >= _MOST_CALLS:
            raise _NotPureError  # It may call itself.
        inputs = inputs_of_function(self._module, found[0].first_line, self._depth + 1)
        if inputs is None:
            raise _NotPureError
        arguments = arguments_of(found[0].node)
        if found[0].class_name:
            if arguments[:1] != self._arguments[:1]:
                raise _NotPureError  # A static method, or another name for ``self``.
            del arguments[:1]
        told = [operand for operand in inputs if operand.steps[0] not in arguments]
        if any(operand.steps[0] in self._own for operand in told):
            raise _NotPureError  # A name of the file that is a variable here.
        self._inputs |= dict.fromkeys(told)


@lru_cache(maxsize=4096)
def _names_of(module: SourceModule, function: Function | None) -> frozenset[str]:
    """Return names that the file gives to something of its own, as ``function`` sees them."""
    names = set(_names_of_file(module))
    line = function.first_line if function else 0
    for each in module.functions:
        if each.first_line <= line <= each.last_line:
            names.update(arguments_of(each.node), assigned_by(each))
    return frozenset(names)


@lru_cache(maxsize=PARSED_FILES)
def _names_of_file(module: SourceModule) -> frozenset[str]:
    own = [statement.node for statement in module.of_function(None)]
    functions = {each.node.name for each in module.functions if not each.class_name}
    classes = {node.name for node in own if isinstance(node, ast.ClassDef)}
    assigned = variables_assigned(*(node for node in own if not isinstance(node, ast.ClassDef)))
    return frozenset(functions | classes | assigned)


@lru_cache(maxsize=4096)
def assigned_by(function: Function) -> frozenset[str]:
    """Variables that a function assigns; kept, for each line of a long one asks."""
    return frozenset(assigned_in(*function.node.body))


def assigned_in(*nodes: ast.AST) -> set[str]:
    """Variables that are assigned there, and the arguments of functions without a name."""
    inside = nodes_in(*nodes)
    lambdas = (inner for inner in inside if isinstance(inner, ast.Lambda))
    return variables_assigned(*nodes).union(*map(arguments_of, lambdas))


def is_called_as_written(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether no decorator changes what a call does."""
    return all(
        ast.unparse(decorator) in ("staticmethod", "property") or is_no_grad(decorator)
        for decorator in node.decorator_list
    )


def is_no_grad(expression: ast.expr) -> bool:
    """Tell a context, or a decorator, that only switches gradients off."""
    return ast.unparse(expression).rpartition(".")[2].startswith(("no_grad", "inference_mode"))
