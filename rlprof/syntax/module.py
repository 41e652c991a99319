"""The statements of one source file, by line."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar

from rlprof.syntax.imports import STANDS_FOR, imported, stands_for
from rlprof.syntax.nodes import calls_in, is_decorated, names_in, nodes_in, own_expressions

_Made = TypeVar("_Made")

PARSED_FILES: Final = 256
"""Syntax trees kept: more than the files with hot lines of any run seen."""

Loop = ast.For | ast.AsyncFor | ast.While
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

_MOST_NESTED: Final = 60
"""Expressions in one another: half as many as Python can follow where each takes several calls."""
_MOST_BITS: Final = 10_000
_LEAVES: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method of a source file, from its ``def`` line on."""

    node: FunctionNode
    qualname: str
    """As Python's own: ``Agent.act``, ``main.<locals>.inner``."""
    class_name: str
    """The class whose body it is in; empty for a plain function."""

    @property
    def called_by(self) -> str:
        """The name that calls it: one makes an object by that of its class."""
        return self.class_name if self.node.name == "__init__" else self.node.name

    @property
    def first_line(self) -> int:
        return self.node.lineno

    @property
    def code_line(self) -> int:
        """The first line of its code object: that of its first decorator."""
        return min(
            [self.node.lineno, *(decorator.lineno for decorator in self.node.decorator_list)]
        )

    @property
    def last_line(self) -> int:
        return self.node.end_lineno or self.node.lineno

    @property
    def lines(self) -> range:
        return range(self.first_line, self.last_line + 1)

    @property
    def is_static(self) -> bool:
        return is_decorated(self.node, "staticmethod")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and the lines that are its own: of a compound one, the header only."""

    node: ast.stmt
    first_line: int
    last_line: int
    function: Function | None
    """The innermost function around it; ``None`` at module level."""
    in_loop: bool
    """True if a loop of the same function (or of the module) runs it again and again."""
    conditions: tuple[ast.expr, ...]
    """Tests of the ``if`` statements around it and of the guard clauses before it."""

    @property
    def lines(self) -> range:
        return range(self.first_line, self.last_line + 1)

    @property
    def condition(self) -> str:
        """All of its conditions as code, ``step % 10 == 0 and logs``; empty where it has none."""
        return " and ".join(map(ast.unparse, self.conditions))

    def expressions(self) -> Iterator[ast.expr]:
        """Yield the expressions that run on the statement's own lines."""
        return own_expressions(self.node)

    def walk(self) -> Iterator[ast.AST]:
        """Yield every syntax node on the statement's own lines."""
        return nodes_in(*self.expressions())

    def calls(self) -> Iterator[ast.Call]:
        """Yield every call on the statement's own lines."""
        return calls_in(*self.expressions())


@dataclass(frozen=True, slots=True)
class _Context:
    function: Function | None = None
    scope: str = ""
    class_name: str = ""
    in_loop: bool = False
    conditions: tuple[ast.expr, ...] = ()


class SourceModule:
    """One parsed source file. Lines count from 1."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.statements: tuple[Statement, ...] = tuple(
            sorted(_statements(tree), key=lambda statement: statement.first_line)
        )
        """By line, each before those of its own body."""
        functions = {
            id(member.function): member.function for member in self.statements if member.function
        }
        self.functions: tuple[Function, ...] = tuple(
            sorted(
                functions.values(), key=lambda function: (function.first_line, -function.last_line)
            )
        )
        self._by_function: dict[Function | None, list[Statement]] = {}
        self._by_line: dict[int, list[Statement]] = {}
        # Parents come before their bodies, so that the innermost statement wins.
        for statement in self.statements:
            self._by_function.setdefault(statement.function, []).append(statement)
            for line in statement.lines:
                self._by_line.setdefault(line, []).append(statement)
        self._function_starts = [function.first_line for function in self.functions]
        nodes = list(ast.walk(tree))
        self._loops = [node for node in nodes if isinstance(node, Loop)]
        self.imports = imported(tree, nodes)
        """Full names of what is imported, by the names that the file uses: ``np`` is ``numpy``."""
        for node in nodes if self.imports else ():
            if isinstance(node, ast.Name) and node.id in self.imports:
                setattr(node, STANDS_FOR, self.imports[node.id])

    def by_function(self) -> Collection[list[Statement]]:
        """The statements of each function, and those of the module's own level."""
        return self._by_function.values()

    def of_function(self, function: Function | None) -> Sequence[Statement]:
        """The statements of a function of this file, without those of functions inside it; for ``None``, the module's own."""
        return self._by_function.get(function, ())

    def of_class(self, name: str) -> list[Statement]:
        """The statements of the methods of a class of that name."""
        return [
            statement
            for statement in self.statements
            if statement.function is not None and statement.function.class_name == name
        ]

    def statement_at(self, line: int) -> Statement | None:
        """The innermost statement one of whose own lines ``line`` is; of several side by side, the last."""
        statements = self._by_line.get(line)
        return statements[-1] if statements else None

    def statements_at(self, line: int) -> Sequence[Statement]:
        """All statements one of whose own lines ``line`` is: ``a(); b()`` are two."""
        return self._by_line.get(line, ())

    def function_at(self, line: int) -> Function | None:
        """The innermost function that ``line`` lies in, its ``def`` line included."""
        for index in range(bisect_right(self._function_starts, line) - 1, -1, -1):
            if line <= self.functions[index].last_line:
                return self.functions[index]
        return None

    def loops_around(self, line: int) -> Iterator[ast.For | ast.AsyncFor]:
        """Yield the ``for`` loops of its function in whose body ``line`` is."""
        return (
            node for node in self.loops_around_all(line) if isinstance(node, ast.For | ast.AsyncFor)
        )

    def loops_around_all(self, line: int) -> Iterator[Loop]:
        """Yield all loops of its function in whose body ``line`` is, the outer ones first."""
        function = self.function_at(line)
        first = function.first_line if function else 0
        for node in self._loops:
            if first < node.lineno < line <= (node.end_lineno or node.lineno):
                yield node

    def innermost_loop(self, line: int) -> Loop | None:
        """The innermost of these."""
        return max(self.loops_around_all(line), key=lambda loop: loop.lineno, default=None)

    def inside(self, loop: Loop) -> list[Statement]:
        """The statements in a loop's body, those of functions in it included."""
        last = loop.end_lineno or loop.lineno
        return [each for each in self.statements if loop.lineno < each.first_line <= last]

    def turn_ending_at(self, line: int) -> Sequence[Statement]:
        """The statements of a turn of the innermost loop around ``line``; none where another comes after it there."""
        loop = self.innermost_loop(line)
        if loop is None or line < loop.body[-1].lineno:
            return ()
        return [
            statement for statement in self.statements if loop.lineno < statement.first_line <= line
        ]

    def in_loop(self, line: int) -> bool:
        """Tell whether ``line`` lies in a loop or a comprehension of its function."""
        statement = self.statement_at(line)
        if statement is None:
            return False
        return statement.in_loop or any(
            node.lineno <= line <= (node.end_lineno or node.lineno)
            for node in statement.walk()
            if isinstance(node, Comprehension)
        )


def _shallow(tree: ast.Module) -> ast.Module:
    """``tree`` with the names alone of what is nested too deep in an expression, as in a sum of 400 terms: who reads them calls itself."""
    ways: list[tuple[ast.AST, int]] = [(tree, 0)]
    while ways:
        node, depth = ways.pop()
        for child in ast.iter_child_nodes(node):
            is_one = isinstance(child, ast.expr) and not isinstance(child, ast.JoinedStr)
            if is_one and depth >= _MOST_NESTED:
                _forget_operands(child)
            elif isinstance(child, ast.Constant) and isinstance(child.value, int):
                # Python writes no number of more than 4300 digits.
                child.value = child.value if child.value.bit_length() < _MOST_BITS else ...
            else:
                ways.append((child, 0 if isinstance(child, ast.stmt) else depth + 1))
    return tree


def _forget_operands(node: ast.AST) -> None:
    """Leave only the names in the operands of a sum, a call, an attribute or an item, which are what is nested so deep."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr) and not isinstance(value, ast.JoinedStr):
            setattr(node, name, _names_in(value))
        elif isinstance(value, list):
            value[:] = [
                _names_in(element) if isinstance(element, ast.expr) else element
                for element in value
            ]


def _names_in(expression: ast.expr) -> ast.expr:
    names = {name.id: name for name in ast.walk(expression) if isinstance(name, ast.Name)}
    return ast.copy_location(ast.Tuple(list(names.values()), ast.Load()), expression)


@lru_cache(maxsize=PARSED_FILES)
def parse(text: str) -> SourceModule | None:
    """The statements of ``text``; ``None`` when it is not Python that this Python can read."""
    return read_as(lambda tree: SourceModule(_shallow(tree)), text)


def read_as(made: Callable[[ast.Module], _Made], text: str) -> _Made | None:
    """Return what ``made`` makes of the tree of ``text``; None when that is not Python, or too deeply nested to be gone through."""
    with warnings.catch_warnings():
        # A doubtful escape sequence in the user's file is not ours to warn about.
        warnings.simplefilter("ignore")
        try:
            return made(ast.parse(text))
        # ValueError: a NUL byte or a lone surrogate. The last two: nesting too deep to read.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def called_name(call: ast.Call) -> str:
    """The last name of what is called: ``self.logger.debug(...)`` -> ``debug``; of an imported function its own."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    if not isinstance(call.func, ast.Name):
        return ""
    return stands_for(call.func).rpartition(".")[2]


def receiver(call: ast.Call) -> ast.expr | None:
    """The object whose method is called: ``self.logger`` in ``self.logger.debug(...)``; None for what is called by its name."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def variables_read(*nodes: ast.AST) -> set[str]:
    """The plain variables that are read anywhere in ``nodes``."""
    return _variables(nodes, ast.Load)


def variables_assigned(*nodes: ast.AST) -> set[str]:
    """The plain variables that are assigned anywhere in ``nodes``."""
    return _variables(nodes, ast.Store)


def _variables(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> set[str]:
    return {
        name.id
        for node in nodes
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, context)
    }


def assigned_variable(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """The plain variable that a statement assigns or adds to, and the value."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        target = node.target
    else:
        return "", None
    return (target.id, node.value) if isinstance(target, ast.Name) else ("", None)


def _statements(tree: ast.Module) -> Iterator[Statement]:
    """Yield all statements, each before those of its own body, which come after what follows it in its block."""
    blocks: list[tuple[Sequence[ast.stmt], _Context]] = [(tree.body, _Context())]
    while blocks:
        block, context = blocks.pop()
        conditions = context.conditions
        for node in block:
            here = replace(context, conditions=conditions)
            yield _statement(node, here)
            blocks.extend(_bodies(node, here))
            # After "if X: return" all that follows runs on the condition of "not X".
            if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES):
                conditions = (*conditions, _negated(node.test))


def _statement(node: ast.stmt, context: _Context) -> Statement:
    first, last = node.lineno, node.end_lineno or node.lineno
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if body:
        start: int = (
            body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
        )
        last = max(first, start - 1)
    repeats = context.in_loop or isinstance(node, ast.While)
    return Statement(node, first, last, context.function, repeats, context.conditions)


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _is_main_guard(test: ast.expr) -> bool:
    """Tell ``__name__ == "__main__"``: it holds wherever a script runs at all."""
    return "__name__" in names_in(test)


def _bodies(node: ast.stmt, context: _Context) -> Iterator[tuple[Sequence[ast.stmt], _Context]]:
    """Yield the blocks of a compound statement, each with what holds inside it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        qualname = context.scope + node.name
        function = Function(node, qualname, context.class_name)
        yield node.body, _Context(function, f"{qualname}.<locals>.")
        return
    if isinstance(node, ast.ClassDef):
        scope = f"{context.scope}{node.name}."
        yield node.body, _Context(context.function, scope, node.name, context.in_loop)
        return
    inside = context
    if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.If):
        tests = (node.test,) if isinstance(node, ast.If) and not _is_main_guard(node.test) else ()
        inside = replace(
            context,
            in_loop=context.in_loop or not isinstance(node, ast.If),
            conditions=(*context.conditions, *tests),
        )
    yield getattr(node, "body", []), inside
    yield getattr(node, "orelse", []), context
    yield getattr(node, "finalbody", []), context
    for handler in getattr(node, "handlers", []):
        yield handler.body, context
    for case in getattr(node, "cases", []):
        yield case.body, context
