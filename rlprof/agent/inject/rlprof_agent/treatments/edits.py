"""Statements of a function that is compiled anew, with calls of ours in them.

The file is read again, and has to be what the function was made from. Line numbers stay.
"""

from __future__ import annotations

import ast
import io
import stat
import tokenize
from types import CodeType, FunctionType

from ..counted.call_marks import own_code
from ..real import os
from . import AskedPart, RefusedError, library
from .arrays import arrays_first, spare_room
from .functions import (
    ALLOWED,
    CALLED,
    IN_NOTHING,
    MARK,
    SwappedCode,
    call_ns,
    held,
    with_objects,
    written_at,
)
from .reuse import copies

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

_ALIKE = ("co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "critical": 50}
_NOT_LEFT_OUT = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
_NONE = compile("", "", "exec")
_ASKED_BY = frozenset(("log", "_log", "isEnabledFor", "getEffectiveLevel"))
"""Methods that those for levels go through."""
_CLASSES = 64
"""Classes of loggers that are known at a time: a program may make those, too."""
_SCOPES = (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_WITHIN = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
"""Statements that do the same in a ``with`` block."""
_STREAMS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom, io.FileIO)


class Edit:
    """A function, by ``file``, ``line`` and ``name``, and of each of its parts the statement at ``at``, of which ``what`` becomes."""

    def __init__(self, asked: AskedPart, *others: AskedPart) -> None:
        part = asked.part
        functions = written_at(part["file"], part["line"], part["name"])
        called = []
        for each in (asked, *others):
            _, instead, untreated = _EDITS[each.part["what"]]
            called.append(held(instead(each), untreated))
            if instead is _every:
                each.frame_ns = call_ns(held(_every(AskedPart(each.part, [0], each.failed)), None))
        written = _Written(part["path"], part["file"], part["line"], part["name"])
        for function in functions:
            written.expect_same(function)
        code = with_objects(written.edited([each.part for each in (asked, *others)]), called)
        self._check(functions, code)
        swap = SwappedCode(functions, lambda _: code)
        self.put_on, self.take_off = swap.put_on, swap.take_off

    @staticmethod
    def _check(functions: list[FunctionType], code: CodeType) -> None:
        for function in functions:
            if function.__code__.co_freevars != code.co_freevars:
                raise RefusedError("the changed line takes other names from around its function")


class _Written:
    """A function as its file has it now."""

    def __init__(self, path: str, file: str, line: int, name: str) -> None:
        self._path, self._line, self._name = path, line, name
        self._file = file
        """As its code has it, which tracebacks show."""
        try:
            with tokenize.open(path) as source:
                self._text = source.read()
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            raise RefusedError("the file %s cannot be read: %s" % (path, error)) from error

    def expect_same(self, function: FunctionType) -> None:
        """Raise ``RefusedError`` where ``function`` was made from other text, or by an import that changes it."""
        made = self._code(compile(self._text, self._file, "exec", dont_inherit=True))
        if made is None or not _are_alike(made, own_code(function.__code__)):
            raise RefusedError("%s has changed since the program read it" % self._path)

    def edited(self, parts: list[dict[str, Any]]) -> CodeType:
        """Its code with all of them in it; a part's calls of ours have the mark of its number."""
        tree = ast.parse(self._text, self._path)
        function = self._function(tree)
        # The last first: what has the mark without a number is given its own before the next.
        for number, part in reversed([*enumerate(parts)]):
            self._edit(function, part)
            if number:
                _mark_by_number(tree, number)
        ast.fix_missing_locations(tree)
        code = self._code(compile(tree, self._file, "exec", dont_inherit=True))
        assert code is not None
        return code

    @staticmethod
    def _edit(function: Any, part: dict[str, Any]) -> None:
        edit = _EDITS[part["what"]][0]
        lines = [int(line) for line in part.get("lines", str(part["at"])).split()]
        done = function is not None and [
            _loop_in(function, line)
            if edit is _if_loop_allowed
            else _edit_in(function, line, part, edit)
            for line in lines
        ]
        if not done or not any(done):
            raise RefusedError("line %d is not written so that it can be changed" % part["at"])

    def _function(self, tree: ast.AST) -> Any:
        for node in ast.walk(tree):
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and node.name == self._name
            ):
                first = min([node.lineno, *[each.lineno for each in node.decorator_list]])
                if first == self._line:
                    return node
        return None

    def _code(self, code: CodeType) -> Optional[CodeType]:
        for each in code.co_consts:
            if type(each) is CodeType:
                if each.co_name == self._name and each.co_firstlineno == self._line:
                    return each
                inner = self._code(each)
                if inner is not None:
                    return inner
        return None


def _are_alike(one: CodeType, other: CodeType) -> bool:
    """Tell whether both do the same at the same lines.

    Not by ``==``, which in some versions minds how often a code has run.
    """
    return (
        all(getattr(one, each) == getattr(other, each) for each in _ALIKE)
        and _lines(one) == _lines(other)
        and _are_same(one.co_consts, other.co_consts)
    )


def _lines(code: CodeType) -> Any:
    # Python 3.9 has no such method, and from 3.12 on the other way is deprecated.
    told = getattr(code, "co_lines", None)
    return (code.co_firstlineno, code.co_lnotab) if told is None else list(told())


def _are_same(one: Any, other: Any) -> bool:
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is CodeType:
        return _are_alike(one, other)
    if kind is tuple:
        return len(one) == len(other) and all(map(_are_same, one, other))
    # 0.0 is not -0.0.
    return bool(one == other) and (kind is frozenset or repr(one) == repr(other))


def _edit_in(owner: ast.AST, line: int, part: dict[str, Any], edit: Any) -> bool:
    """Edit the innermost simple statement of ``owner`` at ``line``; True if that was done."""
    for _, block in ast.iter_fields(owner):
        if not isinstance(block, list):
            continue
        for position, statement in enumerate(block):
            if hasattr(statement, "body") or hasattr(statement, "cases"):
                if _edit_in(statement, line, part, edit):
                    return True
            elif isinstance(statement, ast.stmt) and _is_at(statement, line):
                new = edit(statement, part)
                if new is not None:
                    block[position] = ast.copy_location(new, statement)
                return new is not None
    return False


def _loop_in(function: Any, line: int) -> bool:
    """Edit the innermost loop of ``function`` around ``line``; True if that was done."""
    loops = [
        (block, position, each)
        for owner in ast.walk(function)
        for _, block in ast.iter_fields(owner)
        for position, each in enumerate(block if isinstance(block, list) else ())
        if isinstance(each, ast.For) and each.lineno <= line <= (each.end_lineno or 0)
    ]
    found = max(loops, key=lambda loop: loop[2].lineno, default=None)
    new = _if_loop_allowed(found[2], function) if found is not None else None
    if found is not None and new is not None:
        found[0][found[1]] = ast.copy_location(new, found[2])
    return new is not None


def _if_loop_allowed(loop: ast.For, function: ast.AST) -> Optional[ast.stmt]:
    """Leave a loop out where nothing after it needs what it sets."""
    within = [*ast.walk(loop)]
    if any(isinstance(each, (*_NOT_LEFT_OUT, ast.Return, *_SCOPES)) for each in within):
        return None
    inside = {id(each) for each in within}
    names = [each for each in ast.walk(function) if isinstance(each, ast.Name)]
    stored = {
        each.id for each in names if id(each) in inside and not isinstance(each.ctx, ast.Load)
    }
    if any(each.id in stored and id(each) not in inside for each in names):
        return None
    return ast.If(_ours(), [loop], [])


def _is_at(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def _mark_by_number(tree: ast.AST, number: int) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == MARK:
            node.value = MARK + str(number)


def _ours(*args: ast.expr) -> ast.Call:
    """A call of the object that will be in the place of the mark."""
    # Not the text alone: the compiler warns of a text that is called.
    mark = ast.BoolOp(ast.Or(), [ast.Constant(MARK), ast.Constant(MARK)])
    return ast.Call(mark, list(args), [])


def _if_allowed(statement: ast.stmt, _part: dict[str, Any]) -> Optional[ast.stmt]:
    if not isinstance(statement, ast.Expr) or any(
        isinstance(each, _NOT_LEFT_OUT) for each in ast.walk(statement)
    ):
        return None
    call = statement.value
    of = (
        call.func.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        else None
    )
    return ast.If(_ours(*([of] if of is not None and _is_plain(of) else ())), [statement], [])


def _every(asked: AskedPart) -> Any:
    every, left = asked.part["every"], 0
    known: Any = None

    def is_due(of: Any = None) -> bool:
        nonlocal known, left
        asked.reached[0] += 1
        if of is not known:
            known = of
            if _is_read_by_others(of):
                asked.failed(RefusedError("another process may wait for what is written there"))
                return True
        left -= 1
        if left > 0:
            asked.costs(0)
            return False
        left = every
        return True

    return is_due


def _is_read_by_others(stream: Any) -> bool:
    """Tell whether it is a pipe and no file: without what is written there, the answer would never come."""
    if type(stream) not in _STREAMS:
        return False
    try:
        number = stream.fileno()
        # Nobody answers what a program prints.
        return number > 2 and not stat.S_ISREG(os.fstat(number).st_mode)
    except (OSError, ValueError):
        return False


def _if_logged(statement: ast.stmt, _part: dict[str, Any]) -> Optional[ast.stmt]:
    """Ask the logger before the text is made."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    level = _LEVELS.get(call.func.attr)
    if level is None or not _is_plain(call.func.value):
        return None
    if any(isinstance(each, _NOT_LEFT_OUT) for each in ast.walk(statement)):
        return None
    asks = _ours(call.func.value, ast.Constant(call.func.attr), ast.Constant(level))
    return ast.If(asks, [statement], [])


def _is_plain(value: ast.expr) -> bool:
    """Tell whether to read it twice makes no difference."""
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name)


def _is_logged(asked: AskedPart) -> Any:
    logging = library("logging")

    kinds = logging.Logger, logging.LoggerAdapter
    known: dict[Any, bool] = {}
    """Classes of loggers, by method: True where theirs are the standard library's own. Not the loggers: a program may make one for each step."""

    def is_wanted(logger: Any, method: str, level: int) -> bool:
        asked.reached[0] += 1
        kind = type(logger)
        is_own = known.get((kind, method))
        if is_own is None:
            if logger is logging:
                # Where the root logger has no handler the call would make one.
                return not logging.root.handlers or bool(logging.root.isEnabledFor(level))
            if len(known) >= _CLASSES:
                known.clear()
            names = (method, *_ASKED_BY)
            is_own = issubclass(kind, kinds) and all(
                _is_loggings(kind, name, logging.__file__) for name in names
            )
            known[kind, method] = is_own
        # Others do more, as may a logger that was given a method of its own.
        if not is_own or method in logger.__dict__ or not _ASKED_BY.isdisjoint(logger.__dict__):
            return True
        return bool(logger.isEnabledFor(level))

    return is_wanted


def _is_loggings(kind: Any, name: str, file: str) -> bool:
    """Tell whether the method of a logger's class is the standard library's own, not one of a subclass or one that was put in its place."""
    function = getattr(kind, name, None)
    # Adapters have not all of them.
    return function is None or getattr(function, "__code__", _NONE).co_filename == file


def _without_gradients(statement: ast.stmt, _part: dict[str, Any]) -> Optional[ast.stmt]:
    if not isinstance(statement, _WITHIN) or any(
        isinstance(each, _NOT_LEFT_OUT) for each in ast.walk(statement)
    ):
        return None
    return ast.With([ast.withitem(_ours())], [statement])


def _no_grad(asked: AskedPart) -> Any:
    no_grad = library("torch").no_grad

    def without_gradients() -> Any:
        asked.reached[0] += 1
        return no_grad()

    return without_gradients


def _through(statement: ast.stmt, part: dict[str, Any]) -> Optional[ast.stmt]:
    """Have the calls of ``part["call"]``, functions parted by blanks, made by ours."""
    calls = part["call"].split()
    found = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in calls
    ]
    for node in found:
        node.args = [node.func, *node.args]
        node.func = _ours().func
    return statement if found else None


_EDITS: dict[str, tuple[Any, Any, Any]] = {
    "every": (_if_allowed, _every, ALLOWED),
    "if-logged": (_if_logged, _is_logged, ALLOWED),
    "every-loop": (_if_loop_allowed, _every, ALLOWED),
    "without-gradients": (_without_gradients, _no_grad, IN_NOTHING),
    "arrays-first": (_through, arrays_first, CALLED),
    "spare-room": (_through, spare_room, CALLED),
    "copies-from-memory": (_through, copies, CALLED),
}
"""By name: how a statement is changed, what its new call does, and what that does in a pickle."""
