"""Attributes that a program gives numbers to: ``getattr(self, f"model_{i}")``."""

from __future__ import annotations

import ast
from typing import NamedTuple


class NumberedAttribute(NamedTuple):
    """An attribute by a name that ends in a number."""

    owner: ast.expr
    stem: str
    """The name before the number."""
    number: str
    """The variable that has it."""


def numbered_attribute(expression: ast.expr) -> NumberedAttribute | None:
    """Return what ``getattr`` is asked for where the name is a text with a variable at its end; None for anything else."""
    match expression:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name]):
            pass
        case _:
            return None
    match name:
        case (
            ast.JoinedStr(
                values=[
                    ast.Constant(str(stem)),
                    ast.FormattedValue(value=ast.Name(id=number), format_spec=None),
                ]
            )
            | ast.BinOp(
                left=ast.Constant(str(stem)),
                op=ast.Add(),
                right=ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=number)]),
            )
        ):
            return NumberedAttribute(owner, stem, number)
        case ast.BinOp(left=ast.Constant(str(stem)), op=ast.Mod(), right=ast.Name(id=number)) if (
            stem.endswith("%d")
        ):
            return NumberedAttribute(owner, stem.removesuffix("%d"), number)
    return None
