"""Work for a message that may be more than making its text: what its fix has to keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rlprof.detectors.recognisers.eager_text import FORMATTERS
from rlprof.detectors.recognisers.logging_calls import EagerMessage
from rlprof.model.recording import Frame
from rlprof.source.lines import last_name
from rlprof.source.message_values import MessageValues
from rlprof.source.values import Values
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.nodes import calls_in

_MAKE_TEXT = FORMATTERS | {"__str__", "__repr__", "__format__"}
_TEXT_FILES = ("/arrayprint.py", "/torch/_tensor_str.py")


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


def makes_text(frame: Frame) -> bool:
    """Tell whether a function that a line calls is known to make text alone."""
    return last_name(frame.function) in _MAKE_TEXT or frame.file.endswith(_TEXT_FILES)
