"""The statements of an update: those that gradients come from or run without, and those that make ready what they work on."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.imports import own_name
from rlprof.syntax.module import PARSED_FILES, Loop, SourceModule, called_name, parse
from rlprof.syntax.nodes import blocks_of, lines_of

_OFF: Final = frozenset({"no_grad", "inference_mode"})
_SETS: Final = "set_grad_enabled"

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class UpdateLines(NamedTuple):
    """Lines of one function."""

    learns: frozenset[int]
    """From the first network on whose output the gradients are of, to the step of the optimizer."""
    makes_ready: frozenset[int]
    """Before it: batches drawn, arrays made tensors, targets that no network has a part in."""
    acts: frozenset[int] = frozenset()
    """Of loops that ask networks with gradients switched off alone: a rollout."""


@dataclass(slots=True)
class _CodeUnit:
    """A statement, the header of one that holds others, or a whole loop without a line that updates."""

    node: ast.stmt
    lines: frozenset[int]
    loop: Loop | None
    """The innermost loop around it, of those that hold a line that updates."""
    is_loop: bool
    loads: frozenset[str]
    stores: frozenset[str]
    changes: frozenset[str]
    """Names of which a method is called, or an item is set: lists that are appended to."""


def update_lines(
    module: SourceModule,
    updating: Collection[int],
    *,
    networks: Collection[int],
    environment: Collection[int],
    without_gradients: Collection[int] = (),
) -> UpdateLines:
    """The lines that feed those that update (``updating``, of one function), by what each of them assigns and reads.

    ``networks``, ``environment``: lines that were seen to ask a network, or to step an environment; ``without_gradients``: lines that record
    none. What an environment
    gave is given; so is what comes from a loop around steps of one, from loops outside of the innermost that updates, and
    from one that asks networks with gradients switched off alone: a rollout, whoever steps there.
    """
    acting = set(networks) & set(without_gradients)

    function = module.function_at(min(updating))
    outermost = _outermost_loop(function.node if function else module.tree, updating)
    block: Sequence[ast.stmt] = (
        [outermost] if outermost else (function.node if function else module.tree).body
    )
    items = [*_items(block, frozenset(updating), None)]
    last = max((i for i, item in enumerate(items) if item.lines & set(updating)), default=-1)
    innermost = items[last].loop if last >= 0 else None
    fresh = frozenset[str]().union(*(unit.stores for unit in items if unit.loop is innermost))
    acts: set[int] = set()
    needed: set[str] = set()
    feeding: list[_CodeUnit] = []
    for item in reversed(items[: last + 1]):
        here = item.loop is innermost
        if item.lines & set(updating):
            needed |= item.loads
        elif item.is_loop and item.lines & acting and item.lines & set(networks) <= acting:
            needed -= item.stores
            acts |= item.lines
            continue
        elif item.lines & set(environment) or (item.is_loop and not here):
            needed -= item.stores
            continue
        elif item.stores & needed or (here and item.changes & needed & fresh):
            if not item.is_loop and not isinstance(item.node, ast.AugAssign):
                needed -= item.stores
            needed |= item.loads
        else:
            continue
        feeding.append(item)
    found = _update_lines(feeding[::-1], set(updating), set(networks), innermost)
    return found._replace(acts=frozenset(acts))


def _update_lines(
    feeding: Sequence[_CodeUnit], updating: set[int], networks: set[int], innermost: Loop | None
) -> UpdateLines:
    """Return what is downstream of a network learns. Where none was seen, the innermost loop does."""
    is_seen = any(item.lines & networks for item in feeding)
    # Not modules, whose functions look like methods.
    variables = frozenset[str]().union(*(item.stores for item in feeding))
    reached: set[str] = set()
    learns: set[int] = set()
    ready: set[int] = set()
    for item in feeding:
        is_learning = bool(item.lines & updating) or (
            bool(item.lines & networks or item.loads & reached)
            if is_seen
            else item.loop is innermost
        )
        (learns if is_learning else ready).update(item.lines)
        if is_learning:
            reached |= item.stores | (item.changes & variables)
        else:
            reached -= item.stores
    return UpdateLines(frozenset(learns), frozenset(ready - learns))


def _outermost_loop(scope: ast.AST, lines: Collection[int]) -> Loop | None:
    for node in _within(scope):
        if isinstance(node, Loop) and _holds(node, lines):
            return node
    return None


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a function, outer nodes first, without functions and classes in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, _SCOPES):
            yield child
            yield from _within(child)


def _holds(node: ast.stmt, lines: Collection[int]) -> bool:
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines)


def _items(
    block: Sequence[ast.stmt], updating: frozenset[int], loop: Loop | None
) -> Iterator[_CodeUnit]:
    for node in block:
        if isinstance(node, _SCOPES):
            continue
        is_loop = isinstance(node, Loop)
        if is_loop and not _holds(node, updating):
            yield _item(node, [node], loop, is_loop=True)
            continue
        bodies = [*blocks_of(node)]
        if not any(bodies):
            yield _item(node, [node], loop)
            continue
        inside = node if isinstance(node, Loop) else loop
        yield _item(node, _header(node), inside)
        for body in bodies:
            yield from _items(body, updating, inside)


def _header(node: ast.stmt) -> list[ast.AST]:
    return [
        part
        for part in ast.iter_child_nodes(node)
        if isinstance(part, ast.expr | ast.withitem | ast.pattern)
    ]


def _item(
    node: ast.stmt, parts: Sequence[ast.AST], loop: Loop | None, *, is_loop: bool = False
) -> _CodeUnit:
    loads, stores, changes = set[str](), set[str](), set[str]()
    for part in parts:
        for found in ast.walk(part):
            if isinstance(found, ast.Name | ast.Attribute) and (name := _name(found)):
                (loads if isinstance(found.ctx, ast.Load) else stores).add(name)
            elif isinstance(found, ast.Subscript) and not isinstance(found.ctx, ast.Load):
                changes |= {_name(found.value)} - {""}
            if isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
                changes |= {_name(found.func.value)} - {""}
    lines = lines_of(node)
    if not isinstance(node, Loop) and parts != [node]:
        lines = range(
            node.lineno,
            max((getattr(piece, "end_lineno", 0) or 0) for piece in parts or [node]) + 1,
        )
    elif isinstance(node, Loop) and not is_loop:
        lines = range(node.lineno, node.body[0].lineno)
    return _CodeUnit(
        node,
        frozenset(lines) or frozenset({node.lineno}),
        loop,
        is_loop,
        frozenset(loads),
        frozenset(stores),
        frozenset(changes),
    )


def _name(node: ast.AST) -> str:
    """``loss``; ``self.critic`` of an attribute of an object's own; empty for more than that."""
    if isinstance(node, ast.Name):
        return "" if node.id == "self" else node.id
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ):
        return f"self.{node.attr}"
    return ""


@lru_cache(maxsize=PARSED_FILES)
def without_gradients(text: str) -> frozenset[int]:
    """The lines within ``with torch.no_grad():`` and of functions decorated with it; ``inference_mode``
    and ``set_grad_enabled(False)`` likewise.
    """
    # To read a large file of a library takes a tenth of a second.
    module = parse(text) if any(name in text for name in (*_OFF, _SETS)) else None
    if module is None:
        return frozenset()
    return frozenset(
        line
        for node in ast.walk(module.tree)
        if isinstance(node, ast.stmt) and any(map(_switches_off, _around(node)))
        for line in lines_of(node)
    )


def switches_off_for_good(text: str) -> bool:
    """Tell whether gradients are switched off by a statement of its own, for all that follows."""
    module = parse(text)
    return module is not None and any(
        isinstance(statement.node, ast.Expr) and _switches_off(statement.node.value)
        for statement in module.statements
    )


def _around(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.context_expr for item in node.items)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from node.decorator_list


def _switches_off(expression: ast.expr) -> bool:
    if isinstance(expression, ast.Call):
        name = called_name(expression)
        if name == _SETS:
            given = expression.args[0] if expression.args else None
            return isinstance(given, ast.Constant) and given.value is False
        return name in _OFF
    return own_name(expression) in _OFF
