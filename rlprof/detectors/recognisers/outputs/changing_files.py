"""Files that change while the run goes on, so that to read them once is not enough."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from rlprof.syntax.bound_inputs import values_assigned
from rlprof.syntax.module import (
    Function,
    SourceModule,
    Statement,
    called_name,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, given_to, names_in

_OF_THE_SYSTEM: Final = ("/proc/", "/sys/")
"""Where files are questions to the system: what is read there is the state at that moment."""
_TIMES: Final = frozenset({"stat", "getmtime", "st_mtime", "st_mtime_ns"})
_LOADS: Final = frozenset({"load", "safe_load", "load_file"})


def is_changing(statement: Statement, module: SourceModule) -> bool:
    """Tell whether a statement reads what the system tells, or a file only where that was changed."""
    own = module.of_function(statement.function)
    return _asks_the_system(statement, own, module) or _is_watched(statement, own)


def _asks_the_system(statement: Statement, own: Iterable[Statement], module: SourceModule) -> bool:
    telling = [
        each for each in own if any(_is_of_the_system(_meant(node, module)) for node in each.walk())
    ]
    opened = {name for each in telling for name in _held_by(each.node)}
    return statement in telling or any(
        isinstance(call.func, ast.Attribute) and bool(names_in(call.func.value) & opened)
        for call in statement.calls()
    )


def _meant(node: ast.AST, module: SourceModule) -> ast.AST:
    """Return what a constant of the file itself holds; anything else as it is."""
    values = values_assigned(module, None, node.id) if isinstance(node, ast.Name) else []
    value = values[0] if len(values) == 1 else None
    return value or node


def _held_by(node: ast.stmt) -> set[str]:
    """The variables that a statement binds on its own lines."""
    if isinstance(node, ast.With):
        return variables_assigned(
            *(item.optional_vars for item in node.items if item.optional_vars)
        )
    return variables_assigned(node) if isinstance(node, ast.Assign) else set()


def _is_of_the_system(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(_OF_THE_SYSTEM)
    )


def _is_watched(statement: Statement, own: Iterable[Statement]) -> bool:
    """Tell whether it stands behind a test of when a file was changed last."""
    times = variables_assigned(
        *(each.node for each in own if isinstance(each.node, ast.Assign) and _asks_the_time(each))
    )
    return any(
        variables_read(test) & times or any(called_name(call) in _TIMES for call in calls_in(test))
        for test in statement.conditions
    )


def _asks_the_time(statement: Statement) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _TIMES)
        or (isinstance(node, ast.Call) and called_name(node) in _TIMES)
        for node in statement.walk()
    )


class RepeatedLoad(NamedTuple):
    """A path, as it is written, from which something is loaded in a loop, and the function with that."""

    path: str
    function: Function | None


def repeated_loads(modules: Iterable[SourceModule]) -> frozenset[RepeatedLoad]:
    return frozenset(
        RepeatedLoad(path, statement.function)
        for module in modules
        for statement in module.statements
        if statement.in_loop
        for path in _loaded(statement)
    )


def is_taken_over(statement: Statement, loads: Collection[RepeatedLoad]) -> bool:
    """Tell whether another function loads again and again what a statement writes, as an actor does the newest weights: it is a message."""
    written = {ast.unparse(part) for call in statement.calls() for part in _parts(call)}
    return any(load.path in written and load.function is not statement.function for load in loads)


def _parts(call: ast.Call) -> Iterator[ast.expr]:
    for argument in given_to(call):
        for part in ast.walk(argument):
            if isinstance(part, ast.Name | ast.Attribute | ast.Constant):
                yield part


def _loaded(statement: Statement) -> Iterator[str]:
    """Yield the paths that it loads something from, as they are written."""
    for call in statement.calls():
        if called_name(call) in _LOADS:
            for path in call.args[:1]:
                if isinstance(path, ast.Name | ast.Attribute | ast.Constant):
                    yield ast.unparse(path)
