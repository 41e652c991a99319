"""The work done for messages before their logging calls, or what prints them, are called."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rlprof.detectors.recognisers.outputs.logging_calls import (
    LoggingCall,
    is_guarded,
    log_calls,
    reads,
)
from rlprof.detectors.recognisers.outputs.text_takers import Wrappers
from rlprof.detectors.recognisers.outputs.unread_text import (
    builds_text,
    is_eager_text,
    unread_texts,
)
from rlprof.source.message_values import MessageValues
from rlprof.source.values import Values, callee
from rlprof.syntax.imports import own_name
from rlprof.syntax.module import (
    Function,
    SourceModule,
    Statement,
    assigned_variable,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, lines_of

QUIET_LEVELS: Final = frozenset({"trace", "debug"})
"""Off unless somebody turns them on."""

UNREAD: Final = "unread"
"""Level of text that nothing reads."""

BEHIND: Final = "behind"
"""Level of what is printed behind a test that the text is not made behind."""

_PRINTS: Final = frozenset({"", "print", "builtins.print"})
"""As ``print`` was seen, or not."""

_CHEAP_CALLS: Final = frozenset(
    {"len", "int", "float", "bool", "round", "abs", "type", "id", "time", "perf_counter", "getpid"}
)


@dataclass(frozen=True, slots=True)
class EagerMessage:
    """A message that is built whether or not its logging call wants it."""

    callee: str
    """The call as written: ``self.logger.debug``."""
    callee_name: str
    """Its last name, as a frame would have it: ``debug``."""
    level: str
    """One of ``LEVELS``, ``KEPT``, ``UNREAD`` or ``BEHIND``."""
    lines: frozenset[int]
    """Where the message is built."""
    call_lines: frozenset[int]
    """Where the logging calls are that take it: the same lines, or later ones."""
    other_calls: frozenset[str]
    """Last names of calls on ``lines`` that are no part of the message."""
    condition: str = ""
    """On which the function uses it, where it is one of the user's."""
    is_replaced: bool = False
    """True if what it is made of may have another value by the time of the test that it is printed behind."""


def eager_messages(
    file: str, module: SourceModule, wrappers: Wrappers, values: Values
) -> tuple[EagerMessage, ...]:
    """Every message of ``file`` that is built before its logging call can refuse it."""
    calls = [call for call in log_calls(module, wrappers, file, values) if not is_guarded(call)]
    found = [message for call in calls if (message := _in_the_call(call)) is not None]
    found.extend(_built_before(module, calls, list(_printing(module, file, values))))
    return tuple(found)


def _printing(module: SourceModule, file: str, values: Values) -> Iterator[LoggingCall]:
    """Yield what prints on a condition."""
    for statement in module.statements:
        for call in statement.calls() if statement.conditions else ():
            if (
                own_name(call.func) == "print"
                and callee(call, values.of(file, statement), module).name in _PRINTS
            ):
                yield LoggingCall(call, statement, BEHIND, "print")


def unread_messages(modules: Mapping[str, SourceModule]) -> Iterator[tuple[str, EagerMessage]]:
    """Yield the texts that nothing in the run's files reads, with their file."""
    for file, unread in unread_texts(modules).items():
        for text in unread:
            inside = {called_name(node) for made in text.texts for node in calls_in(made)}
            lines = frozenset[int]().union(*map(lines_of, text.texts))
            others = _other_calls(text.statement, inside)
            yield file, EagerMessage(text.where, "", UNREAD, lines, lines, others)


def _in_the_call(call: LoggingCall) -> EagerMessage | None:
    arguments = call.arguments
    eager = [
        argument
        for argument in arguments
        if is_eager_text(argument)
        or (call.is_direct and _is_work_for_a_quiet_call(argument, call.level))
    ]
    if not eager:
        return None
    inside = {called_name(node) for argument in arguments for node in calls_in(argument)}
    return _message(call, call.lines, call.lines, _other_calls(call.statement, inside))


def _is_work_for_a_quiet_call(argument: ast.expr, level: str) -> bool:
    return (
        level in QUIET_LEVELS
        and isinstance(argument, ast.Call)
        and called_name(argument) not in _CHEAP_CALLS
    )


def _message(
    call: LoggingCall, lines: frozenset[int], call_lines: frozenset[int], other: frozenset[str]
) -> EagerMessage:
    written = ast.unparse(call.node.func)
    condition = call.wrapper.condition if call.wrapper else ""
    return EagerMessage(
        written if len(written) <= 40 else called_name(call.node),
        call.name,
        call.level,
        lines,
        call_lines,
        other,
        call.statement.condition if call.level == BEHIND else condition,
    )


def _other_calls(statement: Statement, inside: set[str]) -> frozenset[str]:
    return frozenset({called_name(call) for call in statement.calls()} - inside)


def _built_before(
    module: SourceModule, calls: Sequence[LoggingCall], printing: Sequence[LoggingCall]
) -> Iterator[EagerMessage]:
    """Yield messages built into a variable that only logging calls of the function read, or what prints it on a condition."""
    by_function: dict[int, list[LoggingCall]] = defaultdict(list)
    for call in (*calls, *printing):
        by_function[id(call.statement.function)].append(call)
    for own in by_function.values():
        yield from _variables(module, own[0].statement.function, own)


def _variables(
    module: SourceModule, function: Function | None, calls: Sequence[LoggingCall]
) -> Iterator[EagerMessage]:
    takers: dict[str, list[LoggingCall]] = defaultdict(list)
    for call in calls:
        for argument in call.arguments:
            for name in reads(argument):
                takers[name].append(call)
    fills = [(statement, *_filled(statement.node)) for statement in module.of_function(function)]
    of_all = Counter(reads(function.node if function else module.tree))
    # To add to a list is to read its name.
    of_all.subtract(name for statement, name, _ in fills if isinstance(statement.node, ast.Expr))
    shared = _shared(fills)
    outer = {
        name
        for statement in module.of_function(function)
        if isinstance(statement.node, ast.Global | ast.Nonlocal)
        for name in statement.node.names
    }
    for statement, name, value in fills:
        taking = takers.get(name, [])
        if not taking or value is None or not builds_text(value):
            continue
        if of_all[name] != len(taking) or name in outer:
            continue
        if name in shared and not isinstance(statement.node, ast.Assign | ast.AnnAssign):
            continue
        behind = [call for call in taking if call.level == BEHIND]
        between = [each for call in behind for each in _between(module, statement, call)]
        if not all(_is_behind(call, statement) for call in behind) or _changes(between, value):
            continue
        call_lines = frozenset[int]().union(*(call.lines for call in taking))
        loudest = next((call for call in taking if call.level not in QUIET_LEVELS), taking[0])
        lines = frozenset(lines_of(statement.node))
        inside = {called_name(made) for made in calls_in(value)}
        message = _message(loudest, lines, call_lines, _other_calls(statement, inside))
        is_replaced = _replaces(between, value) or any(
            _is_in_a_loop_of_its_own(module, statement, call) for call in behind
        )
        yield replace(message, is_replaced=is_replaced)


def _filled(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """The variable that a statement assigns or adds to, as to a list, and the value."""
    match node:
        case ast.Expr(
            ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[value]
            )
        ):
            return name, value
    return assigned_variable(node)


def _shared(fills: Iterable[tuple[Statement, str, ast.expr | None]]) -> frozenset[str]:
    """Variables whose lists somebody else may have, too: they are given to the function, or of unknown origin."""
    made = {name for statement, name, _ in fills if isinstance(statement.node, ast.Assign)}
    known = {
        name
        for statement, name, value in fills
        if isinstance(statement.node, ast.Assign | ast.AnnAssign) and not _is_new(value)
    }
    return frozenset(({name for _, name, _ in fills} - made) | known)


def _is_new(value: ast.expr | None) -> bool:
    return isinstance(value, ast.List | ast.Constant) or builds_text(value)


def _is_behind(call: LoggingCall, statement: Statement) -> bool:
    """Tell whether the call stands behind a test that ``statement`` does not stand behind."""
    return bool(
        set(map(ast.unparse, call.statement.conditions))
        - set(map(ast.unparse, statement.conditions))
    )


def _between(module: SourceModule, statement: Statement, call: LoggingCall) -> Iterator[Statement]:
    """Yield the statements of their function that stand between the two."""
    for each in module.of_function(statement.function):
        if statement.last_line < each.first_line < call.statement.first_line:
            yield each


def _changes(between: Iterable[Statement], value: ast.expr) -> bool:
    """Tell whether something may be changed in place that the text is made of: a board by ``env.step(move)``."""
    made_of = variables_read(value)
    for node in (node for statement in between for node in statement.walk()):
        match node:
            case (
                ast.Call(func=ast.Attribute(value=on))
                | ast.Attribute(value=on, ctx=ast.Store())
                | ast.Subscript(value=on, ctx=ast.Store())
            ) if variables_read(on) & made_of:
                return True
    return False


def _replaces(between: Iterable[Statement], value: ast.expr) -> bool:
    """Tell whether a variable that the text is made of is given another value."""
    return any(variables_assigned(*each.expressions()) & variables_read(value) for each in between)


def _is_in_a_loop_of_its_own(module: SourceModule, statement: Statement, call: LoggingCall) -> bool:
    loop = module.innermost_loop(statement.first_line)
    return loop is not None and call.node.lineno not in lines_of(loop)


def working_calls(
    file: str, module: SourceModule, message: EagerMessage, values: Values
) -> frozenset[str]:
    """Return what is called for a message and may do more than compute, as it is written."""
    statements = dict.fromkeys(
        statement for line in sorted(message.lines) for statement in module.statements_at(line)
    )
    return frozenset(
        ast.unparse(call.func)
        for statement in statements
        for value in _made(statement, message)
        for call in MessageValues(module, statement, values.of(file, statement)).working_calls(
            value
        )
        if called_name(call) not in message.other_calls
    )


def _made(statement: Statement, message: EagerMessage) -> Iterator[ast.expr]:
    """Yield what a statement makes for the message: all that the logging call is given, or the value that is kept for it."""
    for expression in statement.expressions():
        calls = list(calls_in(expression))
        logging = [call for call in calls if _logs(call, message)]
        for call in logging:
            yield from call.args
            yield from (keyword.value for keyword in call.keywords)
        if not logging:
            yield expression


def _logs(call: ast.Call, message: EagerMessage) -> bool:
    return message.callee in (ast.unparse(call.func), called_name(call)) or (
        called_name(call) == message.callee_name
    )
