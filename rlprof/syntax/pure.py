"""Pure computations, told by reading: functions and statements that give the same for the same inputs, and change nothing else."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.model.recording import Frame
from rlprof.syntax.dependencies import (
    assigned_by,
    inputs_of_function,
    inputs_of_value,
    is_called_as_written,
)
from rlprof.syntax.module import SourceModule, Statement
from rlprof.syntax.nodes import arguments_of, calls_in, items_of, nodes_in
from rlprof.syntax.operands import Operand
from rlprof.syntax.pure_calls import hardly_works, is_made_to_be_written, worked_on
from rlprof.syntax.writes import is_changed, result_is_kept

_MOST_ON_A_LINE: Final = 12
"""Calls of one statement, each of which is read beside all others: more are in an observation that is written out."""


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


def pure_at(module: SourceModule, frame: Frame) -> Sequence[Pure]:
    """The same of the line of ``frame``; nothing where that is of a comprehension or a ``lambda``, which may be entered again and again
    within one call of its function, and has variables of its own.
    """
    function = module.function_at(frame.line)
    own_name = function.node.name if function else "<module>"
    is_its_own = frame.function.rpartition(".")[2] == own_name
    return pure_around(module, frame.line) if is_its_own else ()


def pure_around(module: SourceModule, line: int) -> Sequence[Pure]:
    """The pure function that ``line`` lies in, the pure statement, if it is alone there, and pure calls on the line, none before one
    that it is in.
    """
    function, statements = module.function_at(line), module.statements_at(line)
    found = [_pure_function(module, function.first_line)] if function is not None else []
    if len(statements) == 1:
        found += (_pure_statement(module, statements[0]), *_pure_calls(module, statements[0]))
    return [pure for pure in found if pure is not None]


def fitted_at(module: SourceModule, line: int) -> Pure | None:
    """The method that ``line`` lies in, where all that it does is to give attributes of its object values that are computed of others,
    ``self.mean = rows.mean(0)``: called again for the same, it leaves the same, unless others give :func:`attributes_given` by it values, too.
    """
    function = module.function_at(line)
    return _fitting(module, function.first_line) if function is not None else None


def only_computes_at(module: SourceModule, line: int) -> bool:
    """Tell whether the function that ``line`` lies in does nothing else, be its result kept or not."""
    function = module.function_at(line)
    return function is not None and inputs_of_function(module, function.first_line) is not None


@lru_cache(maxsize=2048)
def _pure_function(module: SourceModule, first_line: int) -> Pure | None:
    function = module.function_at(first_line)
    if function is None or not isinstance(function.node, ast.FunctionDef):
        return None
    inputs = inputs_of_function(module, first_line)
    if inputs is None or not result_is_kept(module, function.node):
        return None
    assigned = assigned_by(function)
    return Pure(
        inputs,
        function.lines,
        function.qualname,
        keeps_arguments=assigned.isdisjoint(arguments_of(function.node)),
    )


@lru_cache(maxsize=2048)
def _fitting(module: SourceModule, first_line: int) -> Pure | None:
    function = module.function_at(first_line)
    if (
        function is None
        or not function.class_name
        or not isinstance(function.node, ast.FunctionDef)
    ):
        return None
    if not is_called_as_written(function.node):
        return None
    arguments = arguments_of(function.node)
    inputs: dict[Operand, None] = {}
    for statement in module.of_function(function):
        match statement.node:
            case ast.Expr(value=ast.Constant()) | ast.Return(value=None) | ast.Pass():
                continue
            case ast.Return(value=ast.Name(id=name)) if [name] == arguments[:1]:
                continue
            case ast.Assign(value=value) if not statement.conditions and not statement.in_loop:
                read = inputs_of_value(module, value, statement)
                if read is None:
                    return None
                inputs |= dict.fromkeys(read)
            case _:
                return None
    own = assigned_by(function)
    written = attributes_given(function.node)
    depends_on = tuple(each for each in inputs if each.steps[0] not in own)
    if not written or not own.isdisjoint(arguments) or not depends_on:
        return None
    if any(not written.isdisjoint(_attributes_read(each)) for each in depends_on):
        return None
    lines = function.lines
    return Pure(depends_on, lines, function.qualname, keeps_arguments=True)


def attributes_given(function: ast.AST) -> set[str]:
    """Attributes that it gives values to, or parts of them."""
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    }


def _attributes_read(operand: Operand) -> set[str]:
    return {step[1:] for step in operand.steps[1:] if step.startswith(".")}


@lru_cache(maxsize=2048)
def _pure_statement(module: SourceModule, statement: Statement) -> Pure | None:
    """An assignment to variables or an attribute, of a value that is computed by calls."""
    if not isinstance(statement.node, ast.Assign) or len(statement.node.targets) > 1:
        return None
    value, target = statement.node.value, statement.node.targets[0]
    parts = items_of(target)
    if not all(isinstance(part, ast.Name | ast.Attribute) for part in parts):
        return None
    calls = any(calls_in(value))
    if not calls or is_made_to_be_written(value):
        return None
    if any(is_changed(module, statement.function, part) for part in parts):
        return None
    inputs = inputs_of_value(module, value, statement)
    written = {ast.unparse(part) for part in parts}
    if inputs is None or any(operand.text in written for operand in inputs):
        return None
    tested = nodes_in(*statement.conditions)
    if any(
        isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in written
        for node in tested
    ):
        return None  # ``if table is None: table = build()`` keeps it already.
    return Pure(inputs, statement.lines)


@lru_cache(maxsize=2048)
def _pure_calls(module: SourceModule, statement: Statement) -> Sequence[Pure]:
    """Calls of libraries' and the file's functions, and of methods, where nothing else on the line is much work."""
    nodes = list(statement.walk())
    calls = [node for node in nodes if isinstance(node, ast.Call) and not hardly_works(node)]
    if len(calls) > _MOST_ON_A_LINE:
        return ()
    read = {call: inputs_of_value(module, call, statement) for call in calls}
    found: dict[Pure, None] = {}
    for call, inputs in read.items():
        inside = set(ast.walk(call))
        others = [other for each, other in read.items() if each not in inside]
        on_the_same = all(other is not None and set(other) <= set(inputs or ()) for other in others)
        multiplies = any(
            _multiplies(node) for node in (statement.node, *nodes) if node not in inside
        )
        is_kept = not is_made_to_be_written(call) and _may_be_kept(module, statement, call)
        if inputs and on_the_same and not multiplies and is_kept:
            found[Pure(inputs, statement.lines, is_part=True)] = None
    return tuple(found)


def _may_be_kept(module: SourceModule, statement: Statement, call: ast.Call) -> bool:
    """Tell whether nobody is known to write to what ``call`` gives, where that is all that the statement hands on."""
    match statement.node:
        case ast.Assign(targets=targets, value=value) if worked_on(value) is call:
            return not any(is_changed(module, statement.function, target) for target in targets)
        case ast.Return(value=ast.expr() as value) if worked_on(value) is call:
            node = statement.function.node if statement.function else None
            return isinstance(node, ast.FunctionDef) and result_is_kept(module, node)
    return True


def _multiplies(node: ast.AST) -> bool:
    """Tell a product of matrices, whose work their numbers do not tell."""
    return isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)
