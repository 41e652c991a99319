"""A statement of a function that is compiled anew, with a call of ours in it.

The file is read again, and has to be what the function was made from. Line numbers stay.
"""

from __future__ import annotations

import ast
import tokenize
from types import CodeType, FunctionType

from .. import foreign_errors
from . import RefusedError, library
from .functions import MARK, SwappedCode, with_objects, written_at

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any, Optional

    from . import AskedPart

_ALIKE = ("co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "warn": 30, "error": 40, "critical": 50}
_NOT_LEFT_OUT = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)


class Edit:
    """The statement at ``at`` of a function, by ``file``, ``line`` and ``name``, of which ``what`` becomes."""

    def __init__(self, asked: AskedPart) -> None:
        part = asked.part
        edit, instead = _EDITS[part["what"]]
        functions = written_at(part["file"], part["line"], part["name"])
        helper = instead(asked)
        written = _Written(part["path"], part["file"], part["line"], part["name"])
        for function in functions:
            written.expect_same(function)
        code = with_objects(written.edited(part, edit), [helper])
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
        if made is None or not _are_alike(made, function.__code__):
            raise RefusedError("%s has changed since the program read it" % self._path)

    def edited(self, part: dict[str, Any], edit: Any) -> CodeType:
        tree = ast.parse(self._text, self._path)
        function = self._function(tree)
        done = function is not None and _edit_in(function, part["at"], part, edit)
        if not done:
            raise RefusedError("line %d is not written so that it can be changed" % part["at"])
        ast.fix_missing_locations(tree)
        code = self._code(compile(tree, self._file, "exec", dont_inherit=True))
        assert code is not None
        return code

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


def _is_at(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


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
    return ast.If(_ours(), [statement], [])


def _every(asked: AskedPart) -> Any:
    every, left = asked.part["every"], 0

    def is_due() -> bool:
        nonlocal left
        asked.reached[0] += 1
        left -= 1
        if left > 0:
            return False
        left = every
        return True

    return is_due


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

    def is_wanted(logger: Any, method: str, level: int) -> bool:
        asked.reached[0] += 1
        if logger is logging:
            logger = logging.root
            if not logger.handlers:
                return True  # The call would make one.
        if not isinstance(logger, kinds):
            return True
        log = getattr(getattr(logger, method), "__func__", None)
        if not any(log is getattr(kind, method) for kind in kinds):
            return True  # One that does more.
        return bool(logger.isEnabledFor(level))

    return is_wanted


def _through(statement: ast.stmt, part: dict[str, Any]) -> Optional[ast.stmt]:
    """Have the call of ``part["call"]`` made by ours."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == part["call"]:
            node.args = [node.func, *node.args]
            node.func = _ours().func
            return statement
    return None


def _arrays_first(asked: AskedPart) -> Any:
    """Make one array of a list of arrays before torch makes a tensor of it."""
    numpy, torch = library("numpy"), library("torch")

    def made(function: Any, *args: Any, **kwargs: Any) -> Any:
        # Others may have methods of the same name.
        if function is torch.tensor or function is torch.as_tensor:
            asked.reached[0] += 1
            if len(args) == 1:
                try:
                    array, kind = _one_array(args[0], kwargs.get("dtype"), numpy, torch)
                    args = (array,)
                    if kind is not None:
                        kwargs["dtype"] = kind
                except Exception as error:
                    foreign_errors.pass_on(error)
                    asked.failed(error)
        return function(*args, **kwargs)

    return made


def _one_array(values: Any, wanted: Any, numpy: Any, torch: Any) -> tuple[Any, Any]:
    """Return the list ``values`` as one array, and the type of tensor that is ``wanted`` of it; as they are where that would become another."""
    if type(values) not in (list, tuple) or not values:
        return values, wanted
    doubles = torch.float32, torch.float64
    if all(type(each) is float for each in values):
        # As torch does for a list of Python's floats.
        kind = wanted or torch.get_default_dtype()
        return (numpy.array(values), kind) if kind in doubles else (values, wanted)
    if not all(_is_array(each, numpy) for each in values):
        return values, wanted
    shape, dtype = values[0].shape, values[0].dtype
    if any(each.dtype != dtype or each.shape != shape for each in values):
        return values, wanted
    # Each number of a list becomes a double on the way to a float: these are the same then.
    is_double = dtype.kind == "f" or (dtype.kind in "iub" and dtype.itemsize <= 4)
    is_same = wanted is None or (wanted in doubles and is_double)
    if is_same and dtype.kind in "fiub" and dtype.isnative:
        return numpy.stack(values), wanted
    return values, wanted


def _is_array(value: Any, numpy: Any) -> bool:
    # An array without dimensions is an error to torch.
    return (type(value) is numpy.ndarray and value.ndim > 0) or isinstance(value, numpy.generic)


_EDITS: dict[str, tuple[Any, Any]] = {
    "every": (_if_allowed, _every),
    "if-logged": (_if_logged, _is_logged),
    "arrays-first": (_through, _arrays_first),
}
