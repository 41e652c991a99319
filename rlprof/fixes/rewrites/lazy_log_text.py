"""Leave the text of a log message to its logger, or ask the logger before it is made."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Place, Rewriting
from rlprof.fixes.percent_text import Template, TemplateMaker
from rlprof.fixes.source_tree import SourceTree, rewritten
from rlprof.source.message_values import MessageValues
from rlprof.source.values import callee
from rlprof.syntax.imports import full_name

_LEVELS: Final = {
    "debug": "DEBUG",
    "info": "INFO",
    "warning": "WARNING",
    "warn": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "critical": "CRITICAL",
    "fatal": "CRITICAL",
}
_LIBRARY: Final = "/logging/__init__.py"
_QUICK: Final = frozenset({"len", "int", "float", "bool", "round", "abs", "type", "id"})


@dataclass(frozen=True, slots=True)
class _LogCall:
    node: cst.Call
    receiver: cst.BaseExpression
    level: str
    """Code of it, without the module: ``DEBUG``, or as ``log`` is given it."""
    is_of_logger: bool
    """False for the functions of the module itself and for adapters, which change the template."""
    is_of_module: bool
    first: int
    """Place of the message among the arguments."""


def _rewrite(case: Case) -> Rewriting:
    return rewritten(case, _change)


def _change(tree: SourceTree, place: Place) -> None:
    statement = tree.statement(place.line)
    calls = [call for node in tree.calls(statement) if (call := _log_call(tree, node, place))]
    if not calls:
        raise CannotFixError("no method of a logger of Python's logging is called on its line")
    eager = [call for call in calls if _makes_text(call)]
    if not eager:
        raise CannotFixError("the text is made on another line than the one that logs it")
    for call in eager:
        if not tree.is_changed(call.node):
            _change_call(tree, statement, call, place)


def _change_call(tree: SourceTree, statement: cst.CSTNode, call: _LogCall, place: Place) -> None:
    refusals: list[CannotFixError] = []
    template = _tried(lambda: _template(tree, call, place), refusals)
    if template is not None and all(map(_is_quick, template.values)):
        tree.replace(call.node, _lazy(call, template))
        return
    head = _tried(lambda: _guard(tree, statement, call, place), refusals)
    if head is not None:
        assert isinstance(statement, cst.SimpleStatementLine)
        tree.replace(call.node, lambda updated: updated)
        tree.put_into(statement, head)
        return
    if template is not None:
        tree.replace(call.node, _lazy(call, template))
        return
    raise refusals[-1]


def _tried(make: Callable[[], object], refusals: list[CannotFixError]) -> Any:
    try:
        return make()
    except CannotFixError as error:
        refusals.append(error)
        return None


def _log_call(tree: SourceTree, node: cst.Call, place: Place) -> _LogCall | None:
    if not isinstance(node.func, cst.Attribute):
        return None
    name, receiver = node.func.attr.value, node.func.value
    if (name not in _LEVELS and name != "log") or not _is_dotted(receiver):
        return None
    call = tree.expression(node)
    assert isinstance(call, ast.Call)
    called = callee(call, place.known, tree.names)
    is_module = called.name == f"logging.{name}"
    if called.is_seen:
        # An adapter may have a ``log`` of its own, through which that of each level goes.
        is_adapter = called.name.startswith("logging.LoggerAdapter.")
        is_one = called.name.startswith("logging.") and called.file.endswith(_LIBRARY)
        is_one = is_one and not is_adapter
    else:
        is_one = is_module or tree.written(receiver) in _made_loggers(tree)
    first = int(name == "log")
    if not is_one or len(node.args) <= first:
        return None
    if any(argument.star or argument.keyword for argument in node.args[: first + 1]):
        return None
    level = tree.code(node.args[0].value) if first else _LEVELS[name]
    is_logger = called.name.startswith("logging.Logger.") or not (called.is_seen or is_module)
    return _LogCall(node, receiver, level, is_logger, is_module, first)


def _made_loggers(tree: SourceTree) -> set[str]:
    """Names and attributes that the file gives to loggers of Python's, and to nothing else."""
    made: set[str] = set()
    other: set[str] = set()
    for node in ast.walk(tree.names.tree):
        match node:
            case ast.Assign(targets=targets, value=value) if value is not None:
                pass
            case ast.AnnAssign(target=target, value=value) if value is not None:
                targets = [target]
            case _:
                continue
        is_logger = (
            isinstance(value, ast.Call)
            and full_name(value.func, tree.names.imports) == "logging.getLogger"
        )
        (made if is_logger else other).update(map(ast.unparse, targets))
    return made - other


def _is_dotted(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)


def _makes_text(call: _LogCall) -> bool:
    return any(
        not _is_quick(argument.value)
        for argument in call.node.args[call.first :]
        if argument.keyword is None
    )


def _is_quick(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Name() | cst.Integer() | cst.Float() | cst.SimpleString():
            return True
        case cst.ConcatenatedString():
            return _is_quick(node.left) and _is_quick(node.right)
        case cst.Attribute():
            return _is_quick(node.value)
        case cst.Subscript():
            return _is_quick(node.value) and all(
                isinstance(element.slice, cst.Index) and _is_quick(element.slice.value)
                for element in node.slice
            )
        case cst.UnaryOperation():
            return _is_quick(node.expression)
        case cst.Call(func=cst.Name(name)):
            return name in _QUICK and all(_is_quick(argument.value) for argument in node.args)
    return False


# --- values for a template --------------------------------------------------------------------


def _template(tree: SourceTree, call: _LogCall, place: Place) -> Template:
    plain = [argument for argument in call.node.args if argument.keyword is None]
    if len(plain) != call.first + 1 or any(argument.star for argument in call.node.args):
        raise CannotFixError("its logging call is given values already")
    if not (call.is_of_logger or call.is_of_module):
        raise CannotFixError("its logger may put more into the template")
    template = TemplateMaker(tree, place.known).template(plain[-1].value)
    if not template.values:
        raise CannotFixError("its message has no values")
    return template


def _lazy(call: _LogCall, template: Template) -> Callable[[cst.Call], cst.Call]:
    def change(updated: cst.Call) -> cst.Call:
        before, message, after = (
            updated.args[: call.first],
            updated.args[call.first],
            updated.args[call.first + 1 :],
        )
        between = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        *most, last = template.values
        values = [cst.Arg(value, comma=between) for value in most]
        final = cst.Arg(
            last,
            comma=message.comma,
            whitespace_after_arg=message.whitespace_after_arg,
        )
        text = message.with_changes(
            value=template.text, comma=between, whitespace_after_arg=cst.SimpleWhitespace("")
        )
        return updated.with_changes(args=[*before, text, *values, final, *after])

    return change


# --- a test of the level ------------------------------------------------------------------------


def _guard(tree: SourceTree, statement: cst.CSTNode, call: _LogCall, place: Place) -> str:
    """Return the head of a block in which the call is made only where it logs."""
    if call.is_of_module:
        raise CannotFixError("logging's own functions set logging up where nothing is")
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) > 1:
        raise CannotFixError("its logging call is no statement by itself")
    own = statement.body[0]
    if not isinstance(own, cst.Expr) or own.value is not call.node:
        raise CannotFixError("its logging call is a part of a statement")
    values = MessageValues(tree.names, tree.names.statement_at(place.line), place.known)
    for argument in call.node.args:
        refusal = values.refusal(tree.expression(argument.value))
        if refusal:
            raise CannotFixError(refusal)
    level = call.level
    if not call.first:
        level = f"{tree.name_of('logging', 'logging')}.{level}"
    elif not _is_quick(call.node.args[0].value):
        raise CannotFixError("the level of its message is computed")
    return f"if {tree.code(call.receiver)}.isEnabledFor({level}):"


FIX: Final = Fix(
    id="lazy-log-text",
    does="leaves the text of a message to its logger, which makes it only where it passes it on",
    findings=frozenset({"eager-log-format"}),
    rewrite=_rewrite,
)
