"""Texts that are made by f-strings, ``format``, ``%`` or ``+``, written as a template of ``%`` and the values for it.

Only where the text is the same, character by character.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import libcst as cst

from rlprof.fixes.base import CannotFixError
from rlprof.fixes.source_tree import SourceTree
from rlprof.source.value import Value, is_number

_NUMBER: Final = re.compile(
    r"(?P<align>[<>]?)(?P<sign>[+ ]?)(?P<zero>0?)(?P<width>[1-9]\d*)?(?P<precision>\.\d+)?(?P<type>[eEfFgG])"
)
_WHOLE: Final = re.compile(
    r"(?P<align>[<>]?)(?P<sign>[+ ]?)(?P<zero>0?)(?P<width>[1-9]\d*)?(?P<precision>)(?P<type>[dxXo])"
)
_TEXT: Final = re.compile(r"(?P<align>[<>]?)(?P<width>[1-9]\d*)?(?P<precision>\.\d+)?s?")

_ARRAYS: Final = frozenset({"numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter"})
_SAME_AS_STR: Final = frozenset(
    {"str", "int", "float", "bool", "NoneType", "list", "tuple", "dict", "set", "frozenset", "bytes", "collections.deque",
     "numpy.float64", "numpy.int64", "numpy.int32", "numpy.bool", "numpy.bool_", "torch.Size"}
)  # fmt: skip
"""Types whose values an empty format makes into the text that ``str`` makes of them. That of ``numpy.float32`` has more digits,
tensors and arrays of no dimension are asked for their number."""
_HIDDEN_SIGN: Final = re.compile(
    r"\\(x(25|7[bBdD])|u00(25|7[bBdD])|U000000(25|7[bBdD])|0?45(?![0-7])|17[35]|N\{)"
)
"""Escapes of ``%`` and of braces."""
_GIVES_NUMBER: Final = frozenset({"len", "int", "float", "id"})
_PLAIN_PARTS: Final = frozenset({"shape", "__name__"})


@dataclass(slots=True)
class Template:
    """A text with places for values, as code."""

    text: cst.BaseExpression
    values: list[cst.BaseExpression] = field(default_factory=list)


class TemplateMaker:
    """Makes templates of the expressions of one statement."""

    def __init__(self, tree: SourceTree, known: Mapping[str, Value]) -> None:
        self._tree = tree
        self._known = known

    def template(self, message: cst.BaseExpression) -> Template:
        """Raise :class:`CannotFixError` where there is no exact one."""
        if message.lpar and self._tree.has_comments(message):
            raise CannotFixError("comments stand within its message")
        if _HIDDEN_SIGN.search(self._tree.code(message)):
            raise CannotFixError("its message has characters written as escapes")
        values: list[cst.BaseExpression] = []
        match message:
            case cst.FormattedString() | cst.ConcatenatedString():
                return Template(self._literal(message, values), values)
            case cst.BinaryOperation(operator=cst.Modulo()):
                return self._of_percent(message)
            case cst.BinaryOperation(operator=cst.Add()):
                return self._of_sum(message)
            case cst.Call(func=cst.Attribute(attr=cst.Name("format"))):
                return self._of_format(message)
        raise CannotFixError("its message is made by something else than a text with values in it")

    def _literal(
        self, text: cst.BaseExpression, values: list[cst.BaseExpression]
    ) -> cst.BaseExpression:
        """Return the string without its values, which are put to the others."""
        match text:
            case cst.SimpleString():
                if "b" in text.prefix.lower():
                    raise CannotFixError("its message is bytes")
                return text.with_changes(value=text.value.replace("%", "%%"))
            case cst.ConcatenatedString():
                return text.with_changes(
                    left=self._literal(text.left, values), right=self._literal(text.right, values)
                )
            case cst.FormattedString():
                return self._of_formatted(text, values)
        raise CannotFixError("its message has parts that are no texts")

    def _of_formatted(
        self, text: cst.FormattedString, values: list[cst.BaseExpression]
    ) -> cst.SimpleString:
        prefix = text.start.rstrip("\"'")
        parts = []
        for part in text.parts:
            if isinstance(part, cst.FormattedStringText):
                parts.append(_without_braces(part.value))
                continue
            assert isinstance(part, cst.FormattedStringExpression)
            if part.equal is not None:
                raise CannotFixError("its message names an expression by {…=}")
            spec = ""
            for piece in part.format_spec or ():
                if not isinstance(piece, cst.FormattedStringText):
                    raise CannotFixError("a format of its message is computed")
                spec += piece.value
            parts.append(self._hole(part.expression, part.conversion or "", spec))
            values.append(self._as_argument(part.expression))
        made = "".join(filter(lambda letter: letter not in "fF", prefix))
        quote = text.start[len(prefix) :]
        return cst.SimpleString(f"{made}{quote}{''.join(parts)}{text.end}", text.lpar, text.rpar)

    def _as_argument(self, value: cst.BaseExpression) -> cst.BaseExpression:
        if isinstance(value, cst.Yield | cst.Await | cst.NamedExpr | cst.Lambda | cst.GeneratorExp):
            raise CannotFixError("a value of its message does more than compute")
        if isinstance(value, cst.Tuple) and not value.lpar:
            return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        return value

    def _hole(self, value: cst.BaseExpression, conversion: str, spec: str) -> str:
        """Return the place for a value: ``%s``, ``%.3f``."""
        if conversion:
            return f"%{conversion if not spec else self._padded(spec, conversion)}"
        seen = self._known.get(self._tree.written(value))
        types = frozenset() if seen is None else seen.types
        if not spec:
            if not self._is_same_as_str(value, seen):
                raise CannotFixError(
                    f"{self._tree.written(value)} was not seen to be of a type whose text is the same by %s"
                )
            return "%s"
        match = _NUMBER.fullmatch(spec) or _WHOLE.fullmatch(spec)
        if match is not None:
            if not self._is_number(value, types):
                raise CannotFixError("a format of its message is not one of plain numbers")
            if match["align"] and match["zero"]:
                raise CannotFixError(f"% has no format {spec}")
            left = "-" if match["align"] == "<" else ""
            parts = (match["sign"], match["zero"], match["width"], match["precision"])
            return f"%{left}{''.join(filter(None, parts))}{match['type']}"
        if spec.endswith("s") or types == {"str"}:
            return f"%{self._padded(spec, 's')}"
        raise CannotFixError(f"% has no format {spec}")

    @staticmethod
    def _is_number(value: cst.BaseExpression, types: Collection[str]) -> bool:
        match value:
            case cst.Call(func=cst.Name(name)) if name in _GIVES_NUMBER:
                return True
        return bool(types) and all(is_number(name) or name in _ARRAYS for name in types)

    @staticmethod
    def _padded(spec: str, conversion: str) -> str:
        match = _TEXT.fullmatch(spec)
        if match is None:
            raise CannotFixError(f"% has no format {spec}")
        left = "-" if match["width"] and match["align"] != ">" else ""
        return f"{left}{match['width'] or ''}{match['precision'] or ''}{conversion}"

    def _is_same_as_str(self, value: cst.BaseExpression, seen: Value | None) -> bool:
        if seen is not None:
            has_rows = all(seen.shapes) and bool(seen.shapes)
            return all(
                name in _SAME_AS_STR or (name in _ARRAYS and has_rows) for name in seen.types
            )
        match value:
            case cst.Call(func=cst.Name(name)):
                return name in {*_GIVES_NUMBER, "str", "repr", "type"}
            case cst.Attribute(attr=cst.Name(name)):
                return name in _PLAIN_PARTS
            case cst.SimpleString() | cst.Integer():
                return True
        return False

    def _of_percent(self, message: cst.BinaryOperation) -> Template:
        if self._tree.has_comments(message):
            raise CannotFixError("comments stand within its message")
        if not _is_plain_text(message.left):
            raise CannotFixError("its template is no text that is written there")
        given = message.right
        if isinstance(given, cst.Tuple):
            elements = [element.value for element in given.elements]
            if not elements or any(isinstance(each, cst.StarredElement) for each in given.elements):
                raise CannotFixError("the values of its message are not written one by one")
            return Template(message.left, [self._as_argument(each) for each in elements])
        seen = self._known.get(self._tree.written(given))
        is_number_or_text = seen is not None and all(
            name in _SAME_AS_STR - {"tuple", "dict", "torch.Size"} or name in _ARRAYS
            for name in seen.types
        )
        if not is_number_or_text and not isinstance(given, cst.FormattedString | cst.SimpleString):
            raise CannotFixError(
                f"{self._tree.written(given)} may be several values: it was not seen"
            )
        return Template(message.left, [given])

    def _of_sum(self, message: cst.BinaryOperation) -> Template:
        if self._tree.has_comments(message):
            raise CannotFixError("comments stand within its message")
        leaves = [*_terms(message)]
        texts = [leaf for leaf in leaves if isinstance(leaf, cst.SimpleString)]
        if not texts or len({(text.prefix, text.quote) for text in texts}) > 1:
            raise CannotFixError("its message is a sum of texts of several kinds")
        first, values, parts = texts[0], [], []
        if "b" in first.prefix.lower():
            raise CannotFixError("its message is bytes")
        for leaf in leaves:
            match leaf:
                case cst.SimpleString():
                    parts.append(leaf.raw_value.replace("%", "%%"))
                case cst.Call(func=cst.Name("str" | "repr" as name), args=[argument]) if (
                    not argument.star and argument.keyword is None
                ):
                    parts.append("%s" if name == "str" else "%r")
                    values.append(self._as_argument(argument.value))
                case cst.Name() | cst.Attribute() | cst.Subscript():
                    parts.append("%s")  # A text, for else the sum would fail.
                    values.append(leaf)
                case _:
                    raise CannotFixError("its message is a sum of more than texts and str(…)")
        if not values:
            raise CannotFixError("its message has no values")
        text = f"{first.prefix}{first.quote}{''.join(parts)}{first.quote}"
        return Template(cst.SimpleString(text), values)

    def _of_format(self, message: cst.Call) -> Template:
        assert isinstance(message.func, cst.Attribute)
        text = message.func.value
        if self._tree.has_comments(message):
            raise CannotFixError("comments stand within its message")
        if not isinstance(text, cst.SimpleString) or "b" in text.prefix.lower():
            raise CannotFixError("its template is no text that is written there")
        if any(argument.star for argument in message.args):
            raise CannotFixError("the values of its message are not written one by one")
        plain = [argument.value for argument in message.args if argument.keyword is None]
        named = {
            argument.keyword.value: argument.value for argument in message.args if argument.keyword
        }
        values: list[cst.BaseExpression] = []
        parts, index = [], 0
        for literal, name, spec, conversion in string.Formatter().parse(text.raw_value):
            parts.append(literal.replace("%", "%%"))
            if name is None:
                continue
            key = name or str(index)
            index += not name
            value = plain[int(key)] if key.isdigit() and int(key) < len(plain) else named.get(key)
            if value is None or "{" in (spec or ""):
                raise CannotFixError("a place of its template is more than a value")
            parts.append(self._hole(value, conversion or "", spec or ""))
            values.append(self._as_argument(value))
        if not values or len(values) != len(message.args):
            raise CannotFixError("its template does not have each value once")
        made = f"{text.prefix}{text.quote}{''.join(parts)}{text.quote}"
        return Template(cst.SimpleString(made), values)


def _without_braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}").replace("%", "%%")


def _is_plain_text(node: cst.BaseExpression) -> bool:
    match node:
        case cst.SimpleString():
            return "b" not in node.prefix.lower()
        case cst.ConcatenatedString():
            return _is_plain_text(node.left) and _is_plain_text(node.right)
    return False


def _terms(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]
