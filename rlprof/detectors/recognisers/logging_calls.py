"""Logging calls in a source file, and the work done for their messages before they are called."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.syntax.module import (
    Function,
    SourceModule,
    Statement,
    assigned_variable,
    called_name,
)

LEVELS: Final = frozenset(
    {"trace", "debug", "info", "success", "warn", "warning", "error", "exception", "critical"}
    | {"fatal", "log"}
)
"""Methods of logging, structlog and loguru loggers that take a message."""

QUIET_LEVELS: Final = frozenset({"trace", "debug"})
"""Off unless somebody turns them on."""

FORMATTERS: Final = frozenset(
    {"str", "repr", "ascii", "format", "join", "array2string", "array_repr", "array_str"}
    | {"dumps", "pformat", "tolist", "to_string", "tabulate"}
)
"""Calls that turn a value into text, or only prepare it for that."""

MAX_WRAPPER_STATEMENTS: Final = 12
"""A longer function does more than pass a message on."""

_CHEAP_CALLS: Final = frozenset(
    {"len", "int", "float", "bool", "round", "abs", "type", "id", "time", "perf_counter", "getpid"}
)
_SINKS: Final = frozenset({"print", "write", "writelines", "append", "put", "send", "add_text"})
_OUTPUTS: Final = frozenset({"print", "write", "writelines", *LEVELS})
_LOGGER_NAME: Final = re.compile(r"(^|_)(log|logs|lgr)$|logg(er|ers|ing)", re.IGNORECASE)
_LOGGER_MAKER: Final = re.compile(r"logger(adapter)?$", re.IGNORECASE)
_LOGGER_MODULE: Final = frozenset({"logging", "loguru", "structlog"})
_QUIET_WRAPPER: Final = re.compile(r"(^|_)(debug|trace)($|_)", re.IGNORECASE)
_LEVEL_TESTS: Final = frozenset(
    {"isEnabledFor", "is_enabled_for", "getEffectiveLevel", "get_effective_level"}
)


@dataclass(frozen=True, slots=True)
class EagerMessage:
    """A message that is built whether or not its logging call wants it."""

    callee: str
    """The call as written: ``self.logger.debug``."""
    callee_name: str
    """Its last name, as a frame would have it: ``debug``."""
    level: str
    """One of ``LEVELS``."""
    lines: frozenset[int]
    """Where the message is built."""
    call_lines: frozenset[int]
    """Where the logging calls are that take it: the same lines, or later ones."""
    other_calls: frozenset[str]
    """Last names of calls on ``lines`` that are no part of the message."""


@dataclass(frozen=True, slots=True)
class _LogCall:
    node: ast.Call
    statement: Statement
    level: str
    is_direct: bool
    """Whether it calls a logger, not a function that passes the message on."""

    @property
    def lines(self) -> frozenset[int]:
        return _lines(self.node)


def find_wrappers(modules: Iterable[SourceModule]) -> dict[str, str]:
    """Level by name of every function: empty for one that does not pass a message on to a logger.

    A wrapper of a wrapper counts too.
    """
    modules = tuple(modules)
    known = {function.node.name: "" for module in modules for function in module.functions}
    known |= {name: "info" for module in modules for name in _told_on_a_condition(module)}
    while True:
        found = {
            function.node.name: level
            for module in modules
            for function, level in _wrappers(module, known)
            if not known[function.node.name]
        }
        if not found:
            return known
        known |= found


def eager_messages(
    module: SourceModule, wrappers: Mapping[str, str], loggers: Collection[str] = ()
) -> tuple[EagerMessage, ...]:
    """Every message of ``module`` that is built before its logging call can refuse it.

    ``loggers`` are names that were seen to be loggers in it.
    """
    calls = [
        call for call in _log_calls(module, wrappers, loggers) if not _is_guarded(call.statement)
    ]
    found = [message for call in calls if (message := _in_the_call(call)) is not None]
    found.extend(_built_before(module, calls))
    return tuple(found)


def is_eager_text(expression: ast.expr) -> bool:
    """Whether evaluating ``expression`` formats text there and then."""
    if isinstance(expression, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in expression.values)
    if isinstance(expression, ast.BinOp):
        if isinstance(expression.op, ast.Mod):
            return _is_text(expression.left)
        return isinstance(expression.op, ast.Add) and _is_concatenation(expression)
    if isinstance(expression, ast.IfExp):
        return is_eager_text(expression.body) or is_eager_text(expression.orelse)
    return isinstance(expression, ast.Call) and called_name(expression) in FORMATTERS


def _is_text(expression: ast.expr) -> bool:
    return isinstance(expression, ast.JoinedStr) or (
        isinstance(expression, ast.Constant) and isinstance(expression.value, str)
    )


def _is_concatenation(expression: ast.BinOp) -> bool:
    """Whether text is among the operands of a chain of ``+``, and not text alone."""
    operands: list[ast.expr] = []
    pending: list[ast.expr] = [expression]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Add):
            pending += [operand.left, operand.right]
        else:
            operands.append(operand)
    constant = [isinstance(operand, ast.Constant) for operand in operands]
    return not all(constant) and any(
        _is_text(operand) or is_eager_text(operand) for operand in operands
    )


def _lines(node: ast.expr | ast.stmt) -> frozenset[int]:
    return frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _calls_on(statement: Statement) -> Iterator[ast.Call]:
    return (node for node in statement.walk() if isinstance(node, ast.Call))


def _log_calls(
    module: SourceModule, wrappers: Mapping[str, str], seen: Collection[str] = ()
) -> list[_LogCall]:
    loggers = _logger_names(module).union(seen)
    found = []
    for statement in module.statements:
        for call in _calls_on(statement):
            if _is_logger_call(call, loggers):
                found.append(_LogCall(call, statement, called_name(call), is_direct=True))
            elif level := _wrapper_level(call, wrappers):
                found.append(_LogCall(call, statement, level, is_direct=False))
    return found


def _is_logger_call(call: ast.Call, loggers: frozenset[str]) -> bool:
    return called_name(call) in LEVELS and any(
        name in loggers or _LOGGER_NAME.search(name) for name in _receivers(call)
    )


def _wrapper_level(call: ast.Call, wrappers: Mapping[str, str]) -> str:
    """The level that a wrapper logs at; empty when ``call`` is none."""
    name = called_name(call)
    if name in wrappers:
        return wrappers[name]
    # The wrapper's file is not in the run file when it costs little: the name has to say it all.
    unseen = _QUIET_WRAPPER.search(name) and len(call.args) == 1 and not call.keywords
    return "debug" if unseen else ""


def _receivers(call: ast.Call) -> list[str]:
    """The names before the method, through calls: ``self.log.bind(x=1).debug`` -> self, log, bind."""
    names = []
    node: ast.expr = call.func
    while True:
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            break
    if isinstance(node, ast.Name):
        names.append(node.id)
    return names[1:]


def _logger_names(module: SourceModule) -> frozenset[str]:
    """Names that the file binds to a logger: ``L = getLogger()``, ``from loguru import logger as L``."""
    classes = {
        statement.node.name
        for statement in module.statements
        if isinstance(statement.node, ast.ClassDef)
        and any(_LOGGER_MAKER.search(_name_of(base)) for base in statement.node.bases)
    }
    names: set[str] = set()
    for statement in module.statements:
        node = statement.node
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(_imported_loggers(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            made_by = called_name(node.value)
            if _LOGGER_MAKER.search(made_by) or made_by in classes:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(_name_of(target) for target in targets)
    return frozenset(names - {""})


def _imported_loggers(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        if node.module in _LOGGER_MODULE:
            yield from (it.asname or it.name for it in node.names if it.name == "logger")
        return
    yield from (it.asname or it.name for it in node.names if it.name in _LOGGER_MODULE)


def _name_of(expression: ast.expr) -> str:
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def _is_guarded(statement: Statement) -> bool:
    """Whether a test of the logger's level decides if the statement runs at all."""
    return any(
        _name_of(node) in _LEVEL_TESTS
        or (isinstance(node, ast.Attribute) and node.attr == "level" and _is_logger(node.value))
        for test in statement.conditions
        for node in ast.walk(test)
        if isinstance(node, ast.Attribute | ast.Name)
    )


def _is_logger(expression: ast.expr) -> bool:
    return bool(_LOGGER_NAME.search(_name_of(expression)))


def _message_arguments(call: ast.Call) -> Sequence[ast.expr]:
    """What a logging call is given to say; ``log`` takes the level first."""
    positional = call.args[1:] if called_name(call) == "log" and len(call.args) > 1 else call.args
    named = [
        it.value
        for it in call.keywords
        if it.arg not in ("exc_info", "extra", "stack_info", "stacklevel")
    ]
    return [*positional, *named]


def _in_the_call(call: _LogCall) -> EagerMessage | None:
    arguments = _message_arguments(call.node)
    eager = [
        it
        for it in arguments
        if is_eager_text(it) or (call.is_direct and _is_work_for_a_quiet_call(it, call.level))
    ]
    if not eager:
        return None
    inside = {
        called_name(node) for it in arguments for node in ast.walk(it) if isinstance(node, ast.Call)
    }
    return _message(call, call.lines, call.lines, _other_calls(call.statement, inside))


def _is_work_for_a_quiet_call(argument: ast.expr, level: str) -> bool:
    return (
        level in QUIET_LEVELS
        and isinstance(argument, ast.Call)
        and called_name(argument) not in _CHEAP_CALLS
    )


def _message(
    call: _LogCall, lines: frozenset[int], call_lines: frozenset[int], other: frozenset[str]
) -> EagerMessage:
    callee = ast.unparse(call.node.func)
    return EagerMessage(
        callee if len(callee) <= 40 else called_name(call.node),
        called_name(call.node),
        call.level,
        lines,
        call_lines,
        other,
    )


def _other_calls(statement: Statement, inside: set[str]) -> frozenset[str]:
    return frozenset({called_name(call) for call in _calls_on(statement)} - inside)


def _built_before(module: SourceModule, calls: Sequence[_LogCall]) -> Iterator[EagerMessage]:
    """Yield messages built into a variable that only logging calls of the function read."""
    by_function: dict[int, list[_LogCall]] = defaultdict(list)
    for call in calls:
        by_function[id(call.statement.function)].append(call)
    for own in by_function.values():
        function = own[0].statement.function
        if function is not None:
            yield from _variables(module, function, own)


def _variables(
    module: SourceModule, function: Function, calls: Sequence[_LogCall]
) -> Iterator[EagerMessage]:
    inside = [it for it in module.statements if it.function is function]
    takers: dict[str, list[_LogCall]] = defaultdict(list)
    reads_in_calls: dict[str, int] = defaultdict(int)
    for call in calls:
        for argument in _message_arguments(call.node):
            for name in _reads(argument):
                reads_in_calls[name] += 1
                takers[name].append(call)
    reads: dict[str, int] = defaultdict(int)
    for name in _reads(function.node):
        reads[name] += 1
    for statement in inside:
        name, value = assigned_variable(statement.node)
        if reads_in_calls[name] and reads[name] == reads_in_calls[name] and _builds_text(value):
            call_lines = frozenset[int]().union(*(call.lines for call in takers[name]))
            loudest = next(
                (it for it in takers[name] if it.level not in QUIET_LEVELS), takers[name][0]
            )
            yield _message(loudest, _lines(statement.node), call_lines, frozenset())


def _reads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _builds_text(value: ast.expr | None) -> bool:
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return is_eager_text(value.elt)
    return value is not None and is_eager_text(value)


def _wrappers(module: SourceModule, known: Mapping[str, str]) -> Iterator[tuple[Function, str]]:
    statements: dict[int, list[Statement]] = defaultdict(list)
    for statement in module.statements:
        statements[id(statement.function)].append(statement)
    for call in _log_calls(module, known):
        function = call.statement.function
        arguments = _message_arguments(call.node)
        if function is None or not arguments:
            continue
        parameters = {it.arg for it in (*function.node.args.posonlyargs, *function.node.args.args)}
        if set(_reads(arguments[0])) & (parameters - {"self", "cls"}) and _only_logs(
            statements[id(function)]
        ):
            yield function, call.level


def _told_on_a_condition(module: SourceModule) -> Iterator[str]:
    """Yield names of functions that print or write a parameter where a condition holds, and do nothing else with it.

    That is a logger, whatever its name and that of its methods.
    """
    statements: dict[int, list[Statement]] = defaultdict(list)
    for statement in module.statements:
        statements[id(statement.function)].append(statement)
    for function in module.functions:
        body = statements[id(function)]
        given = [*function.node.args.posonlyargs, *function.node.args.args]
        parameters = {it.arg for it in given} - {"self", "cls"}
        uses = [
            it
            for it in body
            if not isinstance(it.node, ast.If | ast.While)
            and any(isinstance(node, ast.Name) and node.id in parameters for node in it.walk())
        ]
        if uses and len(body) <= MAX_WRAPPER_STATEMENTS and all(map(_is_output_on_condition, uses)):
            yield function.node.name


def _is_output_on_condition(statement: Statement) -> bool:
    match statement.node:
        case ast.Expr(ast.Call() as call):
            return bool(statement.conditions) and called_name(call) in _OUTPUTS
    return False


def _only_logs(body: Sequence[Statement]) -> bool:
    """Whether a function is for its logging call: it gives nothing back and has no other sink."""
    return (
        len(body) <= MAX_WRAPPER_STATEMENTS
        and not _has_other_sink(body)
        and not any(isinstance(it.node, ast.Return) and it.node.value for it in body)
    )


def _has_other_sink(body: Iterable[Statement]) -> bool:
    """Whether the text goes elsewhere too, so that building it is not for the logger alone."""
    return any(called_name(call) in _SINKS for statement in body for call in _calls_on(statement))
