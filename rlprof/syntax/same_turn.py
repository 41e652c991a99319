"""Tell which statements of a function come to pass together, with nothing in between that changes what they work on."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.ancestors import parents
from rlprof.syntax.module import FunctionNode, SourceModule, called_name
from rlprof.syntax.nodes import calls_in, first_name

_CHANGES: Final = frozenset(
    {"step", "backward", "reset", "train", "eval", "load_state_dict", "reset_noise", "sample_noise"}
    | {"step_wait", "step_async", "send", "recv", "recv_into", "copyto", "parameters", "next"}
)
"""Calls after which a network may answer otherwise, or its input be another one: an environment may write into its observation. Who is handed
``parameters()`` may write to them."""

_WRITES: Final = frozenset({"copy_", "lerp_", "add_", "mul_", "sub_", "zero_", "fill_", "normal_"})
"""Methods by which functions move a network to another, and write to what they are given."""

_HARMLESS: Final = frozenset(
    {"no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast", "record_function"}
)
"""Calls that a ``with`` may hold open without changing what is computed within."""

_MOST_DEEP: Final = 4
"""Functions that are looked into from a call on."""


class Watched(NamedTuple):
    """Operands of what is compared."""

    names: frozenset[str]
    texts: frozenset[str]
    """Attributes and items, as written."""

    @classmethod
    def of(cls, expressions: Iterable[ast.expr]) -> Watched:
        parts = [part for expression in expressions for part in ast.walk(expression)]
        return cls(
            frozenset(part.id for part in parts if isinstance(part, ast.Name)),
            frozenset(
                ast.unparse(part)
                for part in parts
                if isinstance(part, ast.Attribute | ast.Subscript)
            ),
        )


Functions = Mapping[str, Sequence[FunctionNode]]
"""Functions of the program by their names."""


def together(
    module: SourceModule,
    statements: Collection[ast.stmt],
    watched: Watched,
    functions: Functions,
) -> Collection[ast.stmt]:
    """Return as many of ``statements`` as stand in one block, if nothing from the first to the last changes what is ``watched``; else none."""
    blocks: dict[int, tuple[list[ast.stmt], dict[ast.stmt, ast.stmt]]] = {}
    for statement in statements:
        for body, inside in _blocks_around(module, statement):
            blocks.setdefault(id(body), (body, {}))[1][statement] = inside
    if not blocks:
        return ()
    # Of two blocks, one in the other, the inner one.
    body, found = max(blocks.values(), key=lambda each: (len(each[1]), each[0][0].lineno))
    places = sorted(body.index(inside) for inside in found.values())
    among = body[places[0] : places[-1] + 1]
    last = among[-1]
    is_changed = any(
        _may_change(each, watched, functions, stores=each is not last or isinstance(each, ast.With))
        for each in among
    )
    return () if is_changed and len(found) > 1 else tuple(found)


def _blocks_around(
    module: SourceModule, statement: ast.stmt
) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """Yield the block that a statement is in, and those around that it comes to pass in for sure, each with the statement there."""
    above = parents(module)
    while True:
        outer = above.get(statement)
        for field in ("body", "orelse", "finalbody"):
            body = getattr(outer, field, None)
            if isinstance(body, list) and statement in body:
                yield body, statement
        if not isinstance(outer, ast.With) or not all(map(_is_harmless, outer.items)):
            return
        statement = outer


def _is_harmless(item: ast.withitem) -> bool:
    expression = item.context_expr
    return isinstance(expression, ast.Call) and called_name(expression) in _HARMLESS


def _may_change(
    statement: ast.stmt, watched: Watched, functions: Functions, *, stores: bool
) -> bool:
    """Tell whether a statement changes what is ``watched``; ``stores``: whether what it assigns counts."""
    names, texts = watched
    written = names | texts
    for node in ast.walk(statement):
        is_stored = stores and isinstance(getattr(node, "ctx", None), ast.Store)
        if is_stored and isinstance(node, ast.Name) and node.id in names:
            return True
        if is_stored and isinstance(node, ast.Attribute) and ast.unparse(node) in texts:
            return True
        if is_stored and isinstance(node, ast.Subscript) and ast.unparse(node.value) in written:
            return True
    attributes = frozenset(text.rpartition(".")[2] for text in texts)
    return any(
        called_name(call) in _CHANGES
        or (
            called_name(call).endswith("_")
            and (first := first_name(call.func)) is not None
            and first.id in names
        )
        or _changes_within(called_name(call), attributes, functions, _MOST_DEEP)
        for call in calls_in(statement)
    )


def _changes_within(
    name: str, attributes: frozenset[str], functions: Functions, levels: int
) -> bool:
    """Tell whether a function of the program, or one that it calls, steps something, writes in place, or sets one of ``attributes``."""
    for function in functions.get(name, ()) if levels else ():
        for node in ast.walk(function):
            is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if is_set and isinstance(node, ast.Attribute) and node.attr in attributes:
                return True
            called = called_name(node) if isinstance(node, ast.Call) else name
            if called in _CHANGES | _WRITES:
                return True
            if called != name and _changes_within(called, attributes, functions, levels - 1):
                return True
    return False
