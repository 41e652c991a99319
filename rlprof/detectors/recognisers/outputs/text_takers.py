"""Functions that use what they are given only where a condition holds: loggers of one's own, callbacks that may return at once."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rlprof.source.values import Callee
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import arguments_of, nodes_in, positional_of

MAX_STATEMENTS: Final = 12
"""A longer function does more than pass a message on."""

KEPT: Final = "kept"
"""Level of what is only stored where the condition holds: no sample shows whether it does."""

LEVELS: Final = frozenset(
    {"trace", "debug", "info", "success", "warn", "warning", "error", "exception", "critical"}
    | {"fatal", "log"}
)
"""Methods of logging, structlog and loguru loggers that take a message."""

_OUTPUTS: Final = frozenset({"print", "write", "writelines", *LEVELS})


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A function that passes text on: to a logger, or to whatever it does where a condition holds."""

    level: str
    """One of ``LEVELS``, or ``KEPT``."""
    function: Function
    takes: frozenset[str] = frozenset()
    """Parameters that are used on the condition alone; all, where there is no condition."""
    condition: str = ""

    def uses(self, call: ast.Call) -> list[ast.expr]:
        """Those arguments of ``call`` that it passes on."""
        given = self.function.node.args
        names = positional_of(self.function.node)
        if names[:1] in (["self"], ["cls"]):
            del names[0]
        known = {*names, *(each.arg for each in given.kwonlyargs)}
        rest = given.vararg.arg if given.vararg else ""
        others = given.kwarg.arg if given.kwarg else ""
        found = []
        for position, argument in enumerate(call.args):
            name = names[position] if position < len(names) else rest
            if not self.takes or name in self.takes:
                found.append(argument)
        for keyword in call.keywords:
            name = keyword.arg if keyword.arg in known else others
            if not self.takes or name in self.takes:
                found.append(keyword.value)
        return found


class Wrappers:
    """The wrappers of a run's files: by the place where they are defined, and by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Wrapper] = {}
        self._by_file: dict[str, list[tuple[Function, Wrapper | None]]] = defaultdict(list)
        self._names: set[str] = set()

    def know(self, file: str, functions: Collection[Function]) -> None:
        """Tell of all functions of a file, wrappers or not."""
        self._by_file[file] = [(function, None) for function in functions]
        self._names.update(function.node.name for function in functions)

    def add(self, file: str, wrapper: Wrapper) -> bool:
        """Tell whether it is new."""
        known = self._by_file[file]
        for index, (function, old) in enumerate(known):
            if function is wrapper.function and old is None:
                known[index] = (function, wrapper)
                self._by_name.setdefault(function.node.name, wrapper)
                return True
        return False

    def defines(self, name: str) -> bool:
        """Tell whether a function of the run's files is called so, wrapper or not."""
        return name in self._names

    def of(self, call: ast.Call, called: Callee) -> Wrapper | None:
        """The wrapper that ``call`` calls: the function that was seen there, or one of that name."""
        if called.is_seen:
            for function, wrapper in self._by_file.get(called.file, ()):
                is_it = (
                    called.line == function.code_line
                    if called.line
                    else called.name.endswith(f".{function.qualname}")
                )
                if is_it:
                    return wrapper
            return None
        return self._by_name.get(called_name(call))


def conditional_takers(module: SourceModule) -> Iterator[Wrapper]:
    """Yield functions that use parameters only where a condition holds, which does not ask for them."""
    for body in module.by_function():
        function = body[0].function
        if function is not None and len(body) <= MAX_STATEMENTS:
            wrapper = _taker(function, body)
            if wrapper is not None:
                yield wrapper


def _taker(function: Function, body: Sequence[Statement]) -> Wrapper | None:
    parameters = {*arguments_of(function.node)}
    uses = {name: _uses(name, function, body) for name in parameters - {"self", "cls"}}
    takes = frozenset(name for name, statements in uses.items() if statements)
    if not takes:
        return None
    used = [statement for name in takes for statement in uses[name] or ()]
    tells = [_conditions(statement) for statement in used if _is_output(statement)]
    # What is stored where the same holds as where it is told was seen with it.
    is_told = all(any(told <= _conditions(statement) for told in tells) for statement in used)
    if not is_told and not all(
        _is_a_switch(test, parameters) for statement in used for test in statement.conditions
    ):
        return None
    return Wrapper(
        "info" if is_told else KEPT,
        function,
        takes,
        " and ".join(sorted(frozenset[str].intersection(*map(_conditions, used)))),
    )


def _uses(name: str, function: Function, body: Sequence[Statement]) -> list[Statement] | None:
    """The statements that use the parameter; None where it is used on no condition, or to find out whether it holds."""
    statements = [using for using in body if any(_reads(node, name) for node in using.walk())]
    told = sum(_reads(node, name) for using in statements for node in using.walk())
    inside = sum(_reads(node, name) for node in nodes_in(*function.node.body))
    if told != inside:
        return None  # A function within it has it, too.
    for statement in statements:
        if not statement.conditions or isinstance(statement.node, ast.If | ast.While):
            return None
        if any(_reads(node, name) for node in nodes_in(*statement.conditions)):
            return None
    return statements


def _is_a_switch(test: ast.expr, parameters: set[str]) -> bool:
    """Tell whether nothing that differs from call to call decides: neither what is given nor what is called."""
    return not any(
        isinstance(node, ast.Call)
        or (isinstance(node, ast.Name) and node.id in parameters - {"self", "cls"})
        for node in ast.walk(test)
    )


def _reads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _conditions(statement: Statement) -> frozenset[str]:
    return frozenset(ast.unparse(test) for test in statement.conditions)


def _is_output(statement: Statement) -> bool:
    match statement.node:
        case ast.Expr(ast.Call() as call):
            return called_name(call) in _OUTPUTS
    return False


def names_in(expressions: Collection[ast.expr]) -> frozenset[str]:
    """Last names of what they read, but for ``self``."""
    found = set[str]()
    for expression in expressions:
        for node in ast.walk(expression):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Name):
                found.add(node.id)
    return frozenset(found - {"self", "cls"})
