"""Fields of a program's named tuples, which are read by their places, too: ``logprobs, rewards = memory``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from rlprof.syntax.imports import own_name
from rlprof.syntax.module import SourceModule, called_name

TupleFields = frozenset[tuple[str, ...]]
"""Those of each named tuple, in their order."""

_GO_THROUGH: Final = frozenset(
    {"list", "tuple", "set", "zip", "map", "filter", "enumerate", "iter", "reversed", "sorted"}
)
"""Built-in functions that take out all items of what they are given."""


def tuple_fields(modules: Iterable[SourceModule]) -> TupleFields:
    """Return the fields of the named tuples that ``modules`` define."""
    nodes = (node for module in modules for node in ast.walk(module.tree))
    return frozenset(fields for node in nodes if (fields := tuple(_defined(node))))


def _defined(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ClassDef(bases=bases, body=body) if "NamedTuple" in map(own_name, bases):
            for each in body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    yield each.target.id
        case ast.Call(args=[_, fields, *_]) if called_name(node) in ("namedtuple", "NamedTuple"):
            for part in ast.walk(fields):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from part.value.replace(",", " ").split()


def fields_read(node: ast.AST, tuples: TupleFields) -> Iterator[str]:
    """Yield the fields that ``node`` may read by their places, if what it takes apart is one of ``tuples``."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=elts) | ast.List(elts=elts)], value=value) if (
            not isinstance(value, ast.Tuple | ast.List)
        ):
            is_open = any(isinstance(each, ast.Starred) for each in elts)
            for fields in tuples:
                yield from fields if is_open or len(fields) == len(elts) else ()
        case ast.Subscript(slice=index, ctx=ast.Load()):
            at = _number(index)
            for fields in tuples if at is not None else ():
                yield from fields[at:][:1]
        case (
            ast.For(iter=ast.Name() | ast.Attribute())
            | ast.comprehension(iter=ast.Name() | ast.Attribute())
            | ast.Starred(ctx=ast.Load())
        ):
            yield from (name for fields in tuples for name in fields)
        case ast.Call(args=args) if called_name(node) in _GO_THROUGH:
            if any(isinstance(each, ast.Name | ast.Attribute) for each in args):
                yield from (name for fields in tuples for name in fields)


def _number(index: ast.expr) -> int | None:
    match index:
        case ast.Constant(value=int() as at):
            return at
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as at)):
            return -at
    return None
