"""Tell lines that may work on after their last call.

CPython looks for signals at the ends of calls and of loops (``CHECK_EVAL_BREAKER``): what such a line does then is seen at a later one. Others do nothing
then but let go of objects, which is left out here.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.syntax.module import read_as

_FIRST: Final = 2
"""The number of the line as it is read: below the head of a function, in which it may return and yield."""
_WORKS: Final = (
    *(ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Starred),
    *(ast.JoinedStr, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Delete),
    *(ast.If, ast.While, ast.Assert),
)
"""An item, a comparison or an operator may be a function in C of any length, as may be what ``for`` or ``with`` ask for, and whether something is true."""
_SEES_ALL: Final = (ast.Call, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""What is done within is seen at the end of the call, or of each turn."""
_LONGEST: Final = 12
"""Lines of a statement that are read on."""


def may_work_after_calls(lines: Sequence[str]) -> bool:
    """Tell whether the first of ``lines`` may; True as well where it cannot be read alone."""
    for end in range(1, min(len(lines), _LONGEST) + 1):
        statements = _read("\n".join(lines[:end]))
        if statements is not None:
            return any(
                _works(node) for node in _outside_calls(*statements) if _line(node) == _FIRST
            )
    return True


def _read(text: str) -> list[ast.stmt] | None:
    text = re.sub("^elif\\b", "if", textwrap.dedent(text).strip())
    for body in (text, f"{text} pass"):
        function = read_as(lambda tree: tree.body[0], f"async def _():\n {body}")
        if isinstance(function, ast.AsyncFunctionDef):
            return function.body
    return None


def _outside_calls(*nodes: ast.AST) -> Iterator[ast.AST]:
    # Not by recursion: generated code adds up thousands of terms.
    found = [*nodes]
    while found:
        node = found.pop()
        yield node
        if not isinstance(node, _SEES_ALL):
            found += ast.iter_child_nodes(node)


def _line(node: ast.AST) -> int | None:
    return getattr(node, "lineno", None)


def _works(node: ast.AST) -> bool:
    match node:
        case ast.UnaryOp(operand=ast.Constant()):
            return False
        case ast.Dict(keys=keys):
            return None in keys
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return False
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
            return not isinstance(value, (ast.Tuple, ast.Call, ast.Await))
    return isinstance(node, _WORKS)
