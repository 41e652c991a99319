"""Places where a program catches an error and goes on: what raises it is a part of how the program works, as the checks of torch's distributions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.syntax.module import Function, SourceModule, called_name

VALIDATE: Final = "validate_args"
_RAISED: Final = "ValueError"
_BACKWARD: Final = frozenset({"backward", "grad"})

_ANY: Final = frozenset({"Exception", "BaseException"})
_MOST_CALLS: Final = 4
"""Functions on the way from the handler to the place."""


class _Call(NamedTuple):
    file: str
    line: int
    caller: str
    """Name by which the function that it stands in is called; empty at module level."""
    in_loop: bool


def caught_at(
    modules: Mapping[str, SourceModule], places: Iterable[tuple[str, int]], error: str
) -> tuple[str, int] | None:
    """Return file and line of a handler of ``error`` around one of the places, or around a call that leads there, after which the program goes on.

    Calls are known by their names alone. A handler that raises again counts for none, nor does one around the whole of a training.
    """
    calls = _calls(modules)
    ways = set(_ways_to(modules, places, calls))
    repeated = _called_in_loops(calls)
    for file, module in modules.items():
        lines = {line for there, line in ways if there == file}
        for statement in module.statements:
            handler = _handler(statement.node, error, lines)
            is_again = statement.in_loop or _name_of(statement.function) in repeated
            if handler is not None and is_again:
                return file, handler.lineno
    return None


def _calls(modules: Mapping[str, SourceModule]) -> dict[str, list[_Call]]:
    found: dict[str, list[_Call]] = {}
    for file, module in modules.items():
        for statement in module.statements:
            caller = _name_of(statement.function)
            for node in statement.calls():
                if name := called_name(node):
                    call = _Call(file, node.lineno, caller, module.in_loop(node.lineno))
                    found.setdefault(name, []).append(call)
    return found


def _name_of(function: Function | None) -> str:
    return "" if function is None else function.called_by


def _ways_to(
    modules: Mapping[str, SourceModule],
    places: Iterable[tuple[str, int]],
    calls: Mapping[str, Collection[_Call]],
) -> Iterator[tuple[str, int]]:
    """Yield the places themselves, and those of calls that lead to them."""
    names: set[str] = set()
    for file, line in places:
        yield file, line
        if file in modules:
            names.add(_name_of(modules[file].function_at(line)))
    known: set[str] = {""}
    for _ in range(_MOST_CALLS):
        callers: set[str] = set()
        for call in (call for name in names - known for call in calls.get(name, ())):
            yield call.file, call.line
            callers.add(call.caller)
        known |= names
        names = callers


def _called_in_loops(calls: Mapping[str, Collection[_Call]]) -> set[str]:
    """Names of functions that are called again and again, as far as names tell."""
    found = {name for name, known in calls.items() if any(call.in_loop for call in known)}
    while True:
        more = {
            name for name, known in calls.items() if any(call.caller in found for call in known)
        }
        if more <= found:
            return found
        found |= more


def _handler(
    node: ast.stmt, error: str, lines: Collection[int]
) -> ast.stmt | ast.expr | ast.excepthandler | None:
    """Return what catches the error where it is raised in one of the ``lines`` of a block of ``node``."""
    if isinstance(node, ast.With) and _is_within(lines, node.body):
        contexts = [item.context_expr for item in node.items]
        suppressing = [
            each
            for each in contexts
            if isinstance(each, ast.Call) and called_name(each) == "suppress"
        ]
        return next(
            (each for each in suppressing for kind in each.args if _catches(kind, error)), None
        )
    if isinstance(node, ast.Try) and _is_within(lines, node.body):
        for handler in node.handlers:
            if _catches(handler.type, error):
                # The first that fits is the one.
                return None if isinstance(handler.body[-1], ast.Raise) else handler
    return None


def _is_within(lines: Collection[int], block: list[ast.stmt]) -> bool:
    first, last = block[0].lineno, block[-1].end_lineno or block[-1].lineno
    return any(first <= line <= last for line in lines)


def _catches(kind: ast.expr | None, error: str) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_catches(each, error) for each in kind.elts)
    return kind is None or ast.unparse(kind).rpartition(".")[2] in _ANY | {error}


def why_checks_stay(
    modules: Mapping[str, SourceModule], places: Collection[tuple[str, int]]
) -> str:
    """Return why the default setting cannot take the place of the checks at ``places``; empty where it can."""
    for file, line in places:
        if file in modules and _are_asked_for(modules[file], line):
            return f"{VALIDATE} is given on its line, or beside it"
    return _caught(caught_at(modules, places, _RAISED), "a check")


def why_anomalies_are_looked_for(modules: Mapping[str, SourceModule]) -> str:
    """Return why autograd's anomaly detection has to stay: what it raises in a backward pass is caught; empty where it may go."""
    passes = [
        (file, statement.first_line)
        for file, module in modules.items()
        for statement in module.statements
        if any(called_name(call) in _BACKWARD for call in statement.calls())
    ]
    return _caught(caught_at(modules, passes, "RuntimeError"), "the detection")


def _caught(handler: tuple[str, int] | None, raised_by: str) -> str:
    if handler is None:
        return ""
    file, line = handler
    return f"the program catches what {raised_by} raises, and goes on ({file.rpartition('/')[2]}:{line})"


def _are_asked_for(module: SourceModule, line: int) -> bool:
    """Tell whether the statement, or one of its function, where the distribution may have been made, says so for itself."""
    function = module.function_at(line)
    nodes = [node for each in module.statements_at(line) for node in each.walk()]
    if any(_is_setting(node) for node in nodes):
        return True
    around = ast.walk(function.node) if function is not None else ()
    return any(
        _is_setting(node)
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
        for node in around
        if isinstance(node, ast.keyword)
    )


def _is_setting(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == VALIDATE
