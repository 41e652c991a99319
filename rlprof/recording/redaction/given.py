"""The strings that a program gives to telling names, whichever way it does: assigned, passed, a default, compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from rlprof.recording.redaction.arguments import REDACTED, redact_arguments
from rlprof.recording.redaction.holders import held
from rlprof.recording.redaction.names import is_often_a_word, is_secret_name, is_vague_name
from rlprof.recording.redaction.programs import passwords_of_programs
from rlprof.syntax.module import called_name
from rlprof.syntax.nodes import assigned, defaults_of

Given: TypeAlias = Iterator[tuple[str, ast.expr]]
"""Names and what they are given."""

_NAME: Final = re.compile(r"[\w.\-]+")
_OPTION: Final = re.compile(r"-{1,2}[A-Za-z].*", re.DOTALL)
_PLAIN: Final = re.compile(r"[\W_]*(?:[A-Za-z]+[\W_]+)*[A-Za-z]*|.{1,3}")
"""Words without a digit, which name a column: ``key="reward"``."""
_SEPARATOR: Final = re.compile(r"[\W_]{0,3}")
_LIKE_A_SECRET: Final = re.compile(
    r"(?!(?:bfloat|u?int|float|complex)\d{1,3}$|iso-?8859-\d{1,2}$)(?=.*\d).{8,}", re.DOTALL
)
"""Neither a prompt nor ``utf-8``, ``cuda:0``, ``bfloat16``."""
_LOOKS_UP: Final = frozenset({"get", "getenv", "getattr", "pop"})
_MAPPING: Final = re.compile(r"\w*([Dd]ict|[Nn]amespace|Munch|Box)")
"""Calls that give their keywords back as they are."""
_FOR_PEOPLE: Final = frozenset(
    {"description", "doc", "help", "label", "metavar", "placeholder", "title"}
)
"""Keywords whose words are for people to read."""
_SAY_NAME: Final = frozenset({"dest", "flag", "name"})
"""Keywords that say of what the keyword ``default`` is one."""
_SAME_TEXT: Final = frozenset({"decode", "encode", "lower", "strip", "upper"})
"""Methods of strings before a comparison."""


def strings_given(tree: ast.AST) -> Iterator[ast.expr]:
    """The nodes of strings that are given to telling names."""
    for node in ast.walk(tree):
        for name, value in _given(node):
            if is_secret_name(name):
                yield from (
                    string
                    for string, is_passed_on in _strings(value)
                    if is_secret_value(name, _text(string), is_passed_on=is_passed_on)
                )
        for name, value in (*held(node), *_perhaps_equal(node)):
            if is_secret_name(name):
                yield from (
                    string
                    for string, is_passed_on in _strings(value)
                    if not is_passed_on and _is_held_secret(name, _text(string))
                )
        if isinstance(node, (ast.List, ast.Tuple)):
            yield from _in_command(node.elts)


def is_secret_value(name: str, text: str, *, is_passed_on: bool = False) -> bool:
    """Tell whether ``text`` is a secret where the telling ``name`` gets it, or what a call makes of it."""
    if is_passed_on:
        return _LIKE_A_SECRET.fullmatch(text) is not None
    if is_vague_name(name):
        return not is_plain(text)
    return not _SEPARATOR.fullmatch(text)


def _is_held_secret(name: str, text: str) -> bool:
    """The same where it is put into something of that name, whose words are more often words."""
    if is_vague_name(name) or (is_plain(text) and not is_often_a_word(name)):
        return False
    return is_secret_value(name, text)


def is_plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None


def _given(node: ast.AST) -> Given:
    match node:
        case ast.Assign() | ast.AnnAssign():
            yield from (
                (_name(assignment.target), assignment.value) for assignment in assigned(node)
            )
        case ast.AugAssign() | ast.NamedExpr():
            yield _name(node.target), node.value
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield _name(node.target), node.iter
        case ast.arguments():
            yield from defaults_of(node).items()
        case ast.keyword(arg=str() as name):
            yield name, node.value
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            yield from ((_name(key), value) for key, value in pairs if key is not None)
        case ast.Call(func=ast.Name() | ast.Attribute(), args=[left, right]) if (
            _name(node.func) == "compare_digest"
        ):
            yield from _compared(left, right)
        case ast.Call():
            yield from _named_in_call(node)
        case ast.Tuple(elts=[ast.Constant() as named, value]):
            yield _name(named), value
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            yield from _compared(node.left, right)
        case ast.FunctionDef() | ast.AsyncFunctionDef() if is_secret_name(node.name):
            returned = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return))
            yield from ((node.name, value) for value in returned if value is not None)


def _compared(left: ast.expr, right: ast.expr) -> Given:
    yield _name_before(left), right
    yield _name_before(right), left


def _perhaps_equal(node: ast.AST) -> Given:
    """``token in ("…",)``, ``token or "…"``, ``match token: case "…"``."""
    match node:
        case ast.BoolOp(op=ast.Or()):
            yield from ((_name_before(left), right) for left, right in pairwise(node.values))
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[values]):
            yield _name_before(node.left), values
        case ast.Match():
            patterns = (pattern for case in node.cases for pattern in ast.walk(case.pattern))
            for pattern in patterns:
                if isinstance(pattern, ast.MatchValue):
                    yield _name_before(node.subject), pattern.value


def _name_before(node: ast.expr) -> str:
    """The name of ``token``, ``(token := …)``, ``token.encode()`` and ``settings.get("token")``."""
    match node:
        case ast.NamedExpr():
            return node.target.id
        case ast.Call(args=[ast.Constant(value=str() as name), *_]) if (
            called_name(node) in _LOOKS_UP
        ):
            return name
        case ast.Call(func=ast.Attribute(value=text, attr=method)) if method in _SAME_TEXT:
            return _name_before(text)
    return _name(node)


def _named_in_call(call: ast.Call) -> Given:
    """``setattr(x, "token", "…")``, ``getenv("TOKEN", "…")``, ``add_argument("--api-key", "-k", default="…")``, ``dict(name="--api-key",
    default="…")``, ``SecretStr("…")``.
    """
    for named, value in pairwise(call.args):
        if isinstance(named, ast.Constant) and not _is_option(value):
            yield _name(named), value
    yield from ((_name(call.func), value) for value in call.args)
    defaults = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
    names = [keyword.value for keyword in call.keywords if keyword.arg in _SAY_NAME]
    for named in (*call.args, *names):
        if isinstance(named, ast.Constant):
            yield from ((_name(named), value) for value in defaults)


def _in_command(elements: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the secret elements of a list that reads like a command line: ``["prog", "--api-key", "…"]``."""
    elements = list(elements)
    if not any(map(_is_option, elements)):
        return
    # Something stands for what is no string: it may be the value of the option before it.
    words = [_text(element) or "word" for element in elements]
    passwords = {number for number, *_ in passwords_of_programs(words)}
    for number, (element, told) in enumerate(zip(elements, redact_arguments(words), strict=True)):
        if (told == REDACTED or number in passwords) and isinstance(
            element, (ast.Constant, ast.JoinedStr)
        ):
            yield element


def _is_option(node: ast.expr) -> bool:
    return _OPTION.fullmatch(_text(node)) is not None


def _name(node: ast.expr) -> str:
    """The last name of ``x``, ``a.x``, ``a["x"]``, ``"x"``; empty where there is none."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Subscript():
            return _name(node.slice)
        case ast.Starred():
            return _name(node.value)
        case ast.Constant(value=str() | bytes()) if _NAME.fullmatch(_text(node)):
            return _text(node)
    return ""


def _text(node: ast.expr) -> str:
    """The characters of a string, those of an f-string outside of its placeholders; empty for all else."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=bytes() as data):
            return data.decode("latin-1")
        case ast.JoinedStr():
            return "".join(map(_text, node.values))
    return ""


def _strings(node: ast.AST, *, is_passed_on: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    """The strings that may become the value of ``node``, and whether a call is to make something of them."""
    inner: list[ast.AST]
    match node:
        case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
            yield node, is_passed_on
            return
        case ast.Call():
            for argument in node.args:
                yield from _strings(argument, is_passed_on=True)
            for keyword in node.keywords:
                if keyword.arg not in _FOR_PEOPLE:
                    is_kept = (
                        _is_default(keyword) or _MAPPING.fullmatch(_name(node.func)) is not None
                    )
                    yield from _strings(keyword.value, is_passed_on=is_passed_on or not is_kept)
            inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        case ast.Dict():
            inner = [*node.values]
        case ast.IfExp():
            inner = [node.body, node.orelse]
        case ast.Subscript():
            inner = [node.value]
        case ast.Lambda():
            inner = [node.body]
        case ast.Compare():
            inner = []
        case _:
            inner = [*ast.iter_child_nodes(node)]
    for part in inner:
        yield from _strings(part, is_passed_on=is_passed_on)


def _is_default(keyword: ast.keyword) -> bool:
    return keyword.arg in ("default", "default_factory")
