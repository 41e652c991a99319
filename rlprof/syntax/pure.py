"""Pure computations, told by reading: functions and statements that give the same for the same inputs, and change nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.imports import full_name
from rlprof.syntax.module import Function, SourceModule, Statement, variables_assigned
from rlprof.syntax.operands import Operand, operand_of
from rlprof.syntax.pure_calls import (
    changes_a_heap,
    gives_a_view,
    is_built_in,
    is_changing_method,
    is_computing_method,
    is_made_to_be_written,
    is_of_computing,
    only_computes,
    writes_by_keyword,
)
from rlprof.syntax.writes import is_changed, made_by, result_is_kept, with_parts_of_others

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


class Pure(NamedTuple):
    """A computation whose result could be kept for as long as its inputs stay as they are."""

    inputs: tuple[Operand, ...]
    """Operands that it depends on: arguments, attributes of them, names of the file."""
    lines: range
    function: str = ""
    """The qualified name of the function that it is; empty for a statement or a part of one."""
    is_part: bool = False
    """True if the line does more than that."""
    keeps_arguments: bool = False
    """True if the function's arguments are all through it what it was called with."""


def pure_around(module: SourceModule, line: int) -> Sequence[Pure]:
    """The pure function that ``line`` lies in, the pure statement, if it is alone there, and pure calls on the line, none before one
    that it is in.
    """
    function, statements = module.function_at(line), module.statements_at(line)
    found = [_pure_function(module, function.first_line)] if function is not None else []
    if len(statements) == 1:
        found.append(_pure_statement(module, statements[0]))
    for statement in statements:
        found += _pure_calls(module, statement)
    return [it for it in found if it is not None]


@lru_cache(maxsize=2048)
def _pure_function(module: SourceModule, first_line: int) -> Pure | None:
    function = module.function_at(first_line)
    if function is None or not isinstance(function.node, ast.FunctionDef):
        return None
    inputs = _inputs_of(module, first_line, 0)
    if inputs is None or not result_is_kept(module, function.node):
        return None
    assigned = _assigned_in(*function.node.body)
    return Pure(
        inputs,
        range(function.first_line, function.last_line + 1),
        function.qualname,
        keeps_arguments=assigned.isdisjoint(it.arg for it in _arguments(function.node)),
    )


@lru_cache(maxsize=2048)
def _pure_statement(module: SourceModule, statement: Statement) -> Pure | None:
    """An assignment to variables or an attribute, of a value that is computed by calls."""
    if not isinstance(statement.node, ast.Assign) or len(statement.node.targets) > 1:
        return None
    value, target = statement.node.value, statement.node.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    if not all(isinstance(it, ast.Name | ast.Attribute) for it in parts):
        return None
    calls = any(isinstance(node, ast.Call) for node in ast.walk(value))
    if not calls or is_made_to_be_written(value):
        return None
    if any(is_changed(module, statement.function, it) for it in parts):
        return None
    inputs = _Reading(module, statement.function).of_value(value, statement)
    written = {ast.unparse(it) for it in parts}
    if inputs is None or any(it.text in written for it in inputs):
        return None
    return Pure(inputs, statement.lines)


@lru_cache(maxsize=2048)
def _pure_calls(module: SourceModule, statement: Statement) -> Sequence[Pure]:
    """Calls of libraries' and the file's functions, and of methods, where nothing else on the line is much work."""
    calls = [it for it in statement.walk() if isinstance(it, ast.Call) and not gives_a_view(it)]
    found: dict[Pure, None] = {}
    for call in calls:
        if is_made_to_be_written(call):
            continue
        inside = {id(it) for it in ast.walk(call)}
        inputs = _Reading(module, statement.function).of_value(call, statement)
        if inputs and all(
            _reads_only(it, inputs, module, statement) for it in calls if id(it) not in inside
        ):
            found[Pure(inputs, statement.lines, is_part=True)] = None
    return tuple(found)


def _reads_only(
    call: ast.Call, inputs: Collection[Operand], module: SourceModule, statement: Statement
) -> bool:
    """Tell whether another call on the line works on the same inputs."""
    others = _Reading(module, statement.function).of_value(call, statement)
    return others is not None and set(others) <= set(inputs)


class _NotPureError(Exception):
    """Code that was read does more than compute."""


@lru_cache(maxsize=4096)
def _inputs_of(module: SourceModule, first_line: int, depth: int) -> tuple[Operand, ...] | None:
    """Return what the function that begins there depends on; None where it does more than compute."""
    return _Reading(module, module.function_at(first_line), depth).of_function()


class _Reading:
    """Reads one function, or one value in it, and notes what it depends on."""

    def __init__(self, module: SourceModule, function: Function | None, depth: int = 0) -> None:
        """``depth``: functions of the file on the way here."""
        self._module = module
        self._function = function
        self._depth = depth
        node = function.node if function else None
        self._arguments = [it.arg for it in _arguments(node)] if node else []
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
        if not isinstance(node, ast.FunctionDef) or not _is_called_as_written(node):
            return None
        if not any(isinstance(it, ast.Return) and it.value for it in ast.walk(node)):
            return None
        self._own = _assigned_in(*node.body)
        self._made = made_by(node, self._own, self._arguments)
        self._wholly_made = self._made - with_parts_of_others(node)
        return self._read_all(node.body)

    def of_value(self, value: ast.expr, statement: Statement) -> tuple[Operand, ...] | None:
        self._own = _assigned_in(value)
        loops = self._module.loops_around(statement.first_line)
        around = _assigned_in(*statement.expressions()) | variables_assigned(
            *(it.target for it in loops)
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
            case ast.withitem(context_expr=context) if not _is_no_grad(context):
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
        if root is node and is_built_in(root.id) and root.id not in self._arguments:
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
        if writes_by_keyword(call):
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
            case ast.Name(id=name):
                if name in self._own or name in self._arguments:
                    raise _NotPureError
                if not is_built_in(name):
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

    def _read_called(self, qualname: str) -> None:
        """Take in what a function of the same file depends on; its arguments were read where it is called."""
        own_name = qualname.rpartition(".")[2]
        named = [it for it in self._module.functions if it.node.name == own_name]
        found = [it for it in named if it.qualname == qualname]
        # A class derived from this one may have its own.
        if len(found) != 1 or (found[0].class_name and len(named) > 1):
            raise _NotPureError
        if self._depth >= _MOST_CALLS:
            raise _NotPureError  # It may call itself.
        inputs = _inputs_of(self._module, found[0].first_line, self._depth + 1)
        if inputs is None:
            raise _NotPureError
        arguments = [it.arg for it in _arguments(found[0].node)]
        if found[0].class_name:
            if arguments[:1] != self._arguments[:1]:
                raise _NotPureError  # A static method, or another name for ``self``.
            del arguments[:1]
        told = [it for it in inputs if it.steps[0] not in arguments]
        if any(it.steps[0] in self._own for it in told):
            raise _NotPureError  # A name of the file that is a variable here.
        self._inputs |= dict.fromkeys(told)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [it for it in ast.walk(node.args) if isinstance(it, ast.arg)]


def _assigned_in(*nodes: ast.AST) -> set[str]:
    """Variables that are assigned there, and the arguments of functions without a name."""
    lambdas = (it for node in nodes for it in ast.walk(node) if isinstance(it, ast.Lambda))
    return variables_assigned(*nodes).union(
        it.arg for each in lambdas for it in ast.walk(each.args) if isinstance(it, ast.arg)
    )


def _is_called_as_written(node: ast.FunctionDef) -> bool:
    """Tell whether no decorator changes what a call does."""
    return all(
        ast.unparse(it) in ("staticmethod", "property") or _is_no_grad(it)
        for it in node.decorator_list
    )


def _is_no_grad(expression: ast.expr) -> bool:
    return ast.unparse(expression).rpartition(".")[2].startswith(("no_grad", "inference_mode"))
