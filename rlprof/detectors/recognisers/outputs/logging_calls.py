"""Logging calls in a source file, and the functions that pass messages on to them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.detectors.recognisers.outputs.text_takers import (
    KEPT,
    LEVELS,
    MAX_STATEMENTS,
    Wrapper,
    Wrappers,
    conditional_takers,
    names_in,
)
from rlprof.libraries.questions import is_of_log_records
from rlprof.source.values import Callee, Values, callee
from rlprof.syntax.imports import own_name
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
)
from rlprof.syntax.nodes import lines_of, positional_of, targets_of

_SINKS: Final = frozenset({"print", "write", "writelines", "append", "put", "send", "add_text"})
_LOGGER_NAME: Final = re.compile(r"(^|_)(log|logs|lgr)$|logg(er|ers|ing)", re.IGNORECASE)
_LOGGER_MAKER: Final = re.compile(r"logger(adapter)?$", re.IGNORECASE)
_LOGGER_MODULE: Final = frozenset({"logging", "loguru", "structlog"})
_QUIET_WRAPPER: Final = re.compile(r"(^|_)(debug|trace)($|_)", re.IGNORECASE)
_LEVEL_TESTS: Final = frozenset(
    {"isEnabledFor", "is_enabled_for", "getEffectiveLevel", "get_effective_level"}
)


@dataclass(frozen=True, slots=True)
class LoggingCall:
    node: ast.Call
    statement: Statement
    level: str
    name: str
    """Last name of the function that it calls."""
    wrapper: Wrapper | None = None
    """The function of the user's that passes the message on, where it calls no logger."""

    @property
    def is_direct(self) -> bool:
        return self.wrapper is None

    @property
    def lines(self) -> frozenset[int]:
        return frozenset(lines_of(self.node))

    @property
    def arguments(self) -> Sequence[ast.expr]:
        """Expressions that it is given to say."""
        return self.wrapper.uses(self.node) if self.wrapper else _message_arguments(self.node)


def find_wrappers(modules: Mapping[str, SourceModule]) -> Wrappers:
    """The functions that pass a message on to a logger, or use it on a condition. A wrapper of a wrapper counts too."""
    found = Wrappers()
    for file, module in modules.items():
        found.know(file, module.functions)
    for file, module in modules.items():
        for wrapper in conditional_takers(module):
            found.add(file, wrapper)
    while True:
        more = [
            (file, wrapper)
            for file, module in modules.items()
            for wrapper in _wrappers(module, found)
        ]
        if not sum(found.add(file, wrapper) for file, wrapper in more):
            return found


def log_calls(
    module: SourceModule, wrappers: Wrappers, file: str = "", values: Values | None = None
) -> list[LoggingCall]:
    loggers = _logger_names(module)
    found = []
    for statement in module.statements:
        calls = list(statement.calls())
        known = values.of(file, statement) if values and calls else {}
        for call in calls:
            called = callee(call, known, module)
            own = wrappers.of(call, called)
            if own is not None:
                found.append(LoggingCall(call, statement, own.level, own.function.node.name, own))
            elif level := _level(call, called, loggers, wrappers):
                found.append(LoggingCall(call, statement, level, level))
    return found


def _level(call: ast.Call, called: Callee, loggers: frozenset[str], wrappers: Wrappers) -> str:
    """The level of a logger's method, as which it was seen, or imported, or is named; empty for what is none."""
    last = called.name.rpartition(".")[2]
    if called.is_seen or called.name:
        is_library = (
            called.name.partition(".")[0] in _LOGGER_MODULE
            or is_of_log_records(called.file)
            or (last != called_name(call) and called.name.startswith("logging."))
        )
        if called.is_seen or is_library:
            return last if is_library and last in LEVELS else ""
    name = called_name(call)
    if name in LEVELS and any(
        receiver in loggers or _LOGGER_NAME.search(receiver) for receiver in _receivers(call)
    ):
        return name
    # The wrapper's file is not in the run file when it costs little: the name has to say it all.
    is_unseen = (
        _QUIET_WRAPPER.search(name)
        and not wrappers.defines(name)
        and len(call.args) == 1
        and not call.keywords
    )
    return "debug" if is_unseen else ""


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
        and any(_LOGGER_MAKER.search(own_name(base)) for base in statement.node.bases)
    }
    names: set[str] = set()
    for statement in module.statements:
        node = statement.node
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.update(_imported_loggers(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            made_by = called_name(node.value)
            if _LOGGER_MAKER.search(made_by) or made_by in classes:
                names.update(own_name(target) for target in targets_of(node))
    return frozenset(names - {""})


def _imported_loggers(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        if node.module in _LOGGER_MODULE:
            yield from (name.asname or name.name for name in node.names if name.name == "logger")
        return
    yield from (name.asname or name.name for name in node.names if name.name in _LOGGER_MODULE)


def is_guarded(call: LoggingCall) -> bool:
    """Tell whether a test of the logger's level, or the wrapper's own, decides if the statement runs at all."""
    statement = call.statement
    if call.wrapper and call.wrapper.condition:
        asked = names_in([ast.parse(call.wrapper.condition, mode="eval").body])
        if asked & names_in(statement.conditions):
            return True
    return any(map(_asks_for_level, statement.conditions))


def _asks_for_level(test: ast.expr) -> bool:
    """Tell whether ``test`` fails wherever the level is off: ``debugging or logger.isEnabledFor(DEBUG)`` does not."""
    if isinstance(test, ast.BoolOp):
        asks = map(_asks_for_level, test.values)
        return all(asks) if isinstance(test.op, ast.Or) else any(asks)
    return any(
        own_name(node) in _LEVEL_TESTS
        or (isinstance(node, ast.Attribute) and node.attr == "level" and _is_logger(node.value))
        for node in ast.walk(test)
        if isinstance(node, ast.Attribute | ast.Name)
    )


def _is_logger(expression: ast.expr) -> bool:
    return bool(_LOGGER_NAME.search(own_name(expression)))


def _message_arguments(call: ast.Call) -> Sequence[ast.expr]:
    """Return what a logging call is given to say; ``log`` takes the level first."""
    positional = call.args[1:] if called_name(call) == "log" and len(call.args) > 1 else call.args
    named = [
        keyword.value
        for keyword in call.keywords
        if keyword.arg not in ("exc_info", "extra", "stack_info", "stacklevel")
    ]
    return [*positional, *named]


def reads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _wrappers(module: SourceModule, known: Wrappers) -> Iterator[Wrapper]:
    """Yield functions that give a parameter to a logger, or to such a function."""
    for call in log_calls(module, known):
        function = call.statement.function
        arguments = call.arguments
        if function is None or not arguments or call.level == KEPT:
            continue
        parameters = {*positional_of(function.node)} - {"self", "cls"}
        if parameters.intersection(reads(arguments[0])) and _only_logs(
            module.of_function(function)
        ):
            yield Wrapper(call.level, function)


def _only_logs(body: Sequence[Statement]) -> bool:
    """Tell whether a function is for its logging call: it gives nothing back and has no other sink."""
    return (
        len(body) <= MAX_STATEMENTS
        and not _has_other_sink(body)
        and not any(
            isinstance(statement.node, ast.Return) and statement.node.value for statement in body
        )
    )


def _has_other_sink(body: Sequence[Statement]) -> bool:
    """Tell whether the text goes elsewhere too, so that building it is not for the logger alone."""
    return any(called_name(call) in _SINKS for statement in body for call in statement.calls())
