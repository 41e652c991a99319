"""Tell whether the values of a message are only computed: they are not made where nobody wants its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from rlprof.source.value import Value
from rlprof.source.values import callee
from rlprof.syntax.dependencies import inputs_of_value
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import calls_in
from rlprof.syntax.pure_calls import (
    is_built_in,
    is_computing_method,
    only_computes,
    writes_by_argument,
)

_TEXTS: Final = frozenset({"str", "repr", "format", "type", "id", "ascii"})
_TEXTS_OF_LIBRARIES: Final = ("json.dumps", "pprint.pformat")
_HAND_ON: Final = frozenset({"map", "filter"})
"""Functions of Python's own that call what they are given."""
_FILLS: Final = "defaultdict"
_TAKES_OUT: Final = "get"
"""Without arguments it is a queue's."""


class MessageValues:
    """The values of messages of one file, at the lines of one statement."""

    def __init__(
        self, module: SourceModule, statement: Statement | None, known: Mapping[str, Value]
    ) -> None:
        """``known`` are values that were seen on the statement, by their text."""
        self._module = module
        self._statement = statement
        self._known = known

    def refusal(self, value: ast.expr) -> str:
        """Return why ``value`` cannot be left unmade; empty where it is only computed."""
        for node in ast.walk(value):
            if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
                return "a value of its message does more than compute"
            if self._may_change_something(node):
                return f"reading {ast.unparse(node)} for its message may change something"
        for call in self.working_calls(value):
            return f"{ast.unparse(call.func)}() is called for its message, and may do something else, too"
        return ""

    def _may_change_something(self, read: ast.AST) -> bool:
        """Tell whether it reads a key, which a ``defaultdict`` then has, or a property of the program's that does more than return."""
        match read:
            case ast.Subscript(value=container):
                seen = self._known.get(ast.unparse(container))
                if seen is not None:
                    return any(_FILLS in base for base in seen.bases)
                return ast.unparse(container) in self._filled_by_reading()
            case ast.Attribute(attr=name):
                return any(_is_working_property(each) for each in self._functions(name))
        return False

    def _filled_by_reading(self) -> set[str]:
        """Names that the file gives to a ``defaultdict``."""
        return {
            ast.unparse(target)
            for statement in self._module.statements
            if isinstance(statement.node, ast.Assign)
            and isinstance(statement.node.value, ast.Call)
            and called_name(statement.node.value) == _FILLS
            for target in statement.node.targets
        }

    def working_calls(self, value: ast.expr) -> Iterator[ast.Call]:
        """Yield the calls in ``value`` that may do more than compute."""
        for node in calls_in(value):
            if not self._only_computes(node):
                yield node

    def _only_computes(self, call: ast.Call) -> bool:
        if writes_by_argument(call):
            return False
        full = full_name(call.func, self._module.imports)
        if full:
            return only_computes(full) or full.startswith(_TEXTS_OF_LIBRARIES)
        if self._is_of_program(call):
            return self._is_read_as_pure(call)
        name = called_name(call)
        if isinstance(call.func, ast.Name):
            if name in _HAND_ON and not _is_of_python(call.args[0] if call.args else None):
                return False
            return is_built_in(name) or name in _TEXTS
        if name == _TAKES_OUT and not call.args:
            return False
        return isinstance(call.func, ast.Attribute) and is_computing_method(name)

    def _is_of_program(self, call: ast.Call) -> bool:
        """Tell whether it calls a function of the program's, as far as was seen, or as its file has one of that name."""
        called = callee(call, self._known, self._module)
        return called.is_yours if called.is_seen else bool(self._functions(called_name(call)))

    def _is_read_as_pure(self, call: ast.Call) -> bool:
        if self._statement is None:
            return False
        if isinstance(call.func, ast.Attribute) and not self._is_the_one_read(call):
            return False
        return inputs_of_value(self._module, call, self._statement) is not None

    def _is_the_one_read(self, call: ast.Call) -> bool:
        """Tell whether the method was seen to be that of this file: another class may have one of that name."""
        called = callee(call, self._known, self._module)
        return any(
            called.line in (function.first_line, function.code_line)
            and called.name.endswith(function.qualname)
            for function in self._functions(called_name(call))
        )

    def _functions(self, name: str) -> list[Function]:
        return [each for each in self._module.functions if each.node.name == name]


def _is_of_python(function: ast.expr | None) -> bool:
    match function:
        case ast.Name(id=name):
            return is_built_in(name) or name in _TEXTS
        case ast.Lambda():
            return True  # Its own calls are looked at.
    return False


def _is_working_property(function: Function) -> bool:
    names = {ast.unparse(each).rpartition(".")[2] for each in function.node.decorator_list}
    return "property" in names and any(
        isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete)
        or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))
        for node in ast.walk(function.node)
    )
