"""Loops of Python: what each turn is given, a counter, an element or a row, and what one turn carries to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from rlprof.source.tensors import Tensors
from rlprof.syntax.loop_elements import elements
from rlprof.syntax.module import Loop, Statement, called_name, variables_assigned, variables_read
from rlprof.syntax.nodes import assigned, calls_in, names_in, targets_given

_EXTREMES: Final = frozenset({"max", "min", "maximum", "minimum"})

_OF_SIZE: Final = frozenset({"shape", "size", "ndim", "dtype", "device"})
"""Attributes that tell nothing of what is in an array."""

FEW: Final = 8
"""Turns up to which a loop may as well stay one: a call for all costs as much as some of its turns."""

_FINDS_ROWS: Final = frozenset({"nonzero", "flatnonzero", "argwhere", "where"})
"""Calls that answer with the numbers of the rows for which something holds."""
_OF_NUMBERS: Final = frozenset({"tolist", "flatten", "squeeze", "cpu", "numpy", "view", "reshape"})
"""Methods by which those come into a loop."""


def bound_names(loop: Loop, tensors: Tensors) -> Iterator[tuple[str, str]]:
    """Yield the names that a turn gives a value, and the tensor that it is an element of, if it is one."""
    if isinstance(loop, ast.While):
        for name in counted(loop):
            yield name, ""
        return
    for name, source in elements(loop.target, loop.iter):
        match source:
            case ast.Call(func=ast.Name(id="enumerate")):
                yield name, ""
            case ast.Call(func=ast.Name(id="range" | "trange"), args=given):
                if len(given) < 3 or _is_minus(given[2]):
                    yield name, ""
            case _ if are_numbers_of_rows(source):
                yield name, ""
            case _ if tensors.holds(source):
                yield name, ast.unparse(source)


def are_numbers_of_rows(iterated: ast.expr) -> bool:
    """Tell whether a loop goes through the rows for which something holds: ``done.nonzero().flatten().tolist()``, ``np.where(done)[0]``."""
    while True:
        match iterated:
            case ast.Call(args=args) if called_name(iterated) in _FINDS_ROWS:
                # With three arguments ``where`` chooses values.
                return called_name(iterated) != "where" or len(args) == 1
            case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _OF_NUMBERS:
                iterated = of
            case ast.Subscript(value=of):
                iterated = of
            case _:
                return False


def counted(loop: Loop) -> frozenset[str]:
    """Return what a ``while`` counts up or down."""
    if not isinstance(loop, ast.While):
        return frozenset()
    tested = names_in(loop.test)
    return frozenset(
        part.target.id
        for part in ast.walk(loop)
        if isinstance(part, ast.AugAssign)
        and isinstance(part.target, ast.Name)
        and part.target.id in tested
        and isinstance(part.value, ast.Constant)
        and part.value.value == 1
    )


def is_short(loop: Loop) -> bool:
    match loop:
        case ast.For(
            iter=ast.Call(func=ast.Name("range" | "trange"), args=[ast.Constant(value=int(turns))])
        ):
            return turns <= FEW
    return False


def goes_backwards(loop: Loop) -> bool:
    if isinstance(loop, ast.While):
        return False
    return any(
        (
            called_name(part) in ("reversed", "flip")
            or (called_name(part) == "range" and len(part.args) == 3 and _is_minus(part.args[2]))
        )
        for part in calls_in(loop.iter)
    )


def _is_minus(expression: ast.expr) -> bool:
    return isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub)


def carried(statements: Sequence[Statement]) -> frozenset[str]:
    """Variables and containers that a turn reads as the one before left them, sums aside.

    ``statements`` are the loop's, by line. A sum, a product or an extreme of all turns is none of
    these: it can be had of all at once.
    """
    return recursive(statements) | frozenset(_read_whole(statements))


def recursive(statements: Sequence[Statement]) -> frozenset[str]:
    """Those of ``carried`` of which a turn reads one item, or the variable: a recursion, as in GAE."""
    return frozenset(_names(statements)) | frozenset(_containers(statements))


def keeps_state(body: Sequence[Statement]) -> bool:
    """Tell whether a turn makes an attribute of what the turn before has left there: ``self.state = 0.9 * self.state + noise``."""
    read: set[str] = set()
    for statement in body:
        read |= {
            ast.unparse(node)
            for node in statement.walk()
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        }
        for each in assigned(statement.node):
            if isinstance(each.target, ast.Attribute) and ast.unparse(each.target) in read:
                parts = {type(node) for node in ast.walk(each.value)}
                # Sums can be had of all turns at once.
                return ast.Add not in parts or ast.Mult in parts
    return False


def _names(statements: Sequence[Statement]) -> Iterator[str]:
    given = {name for statement in statements for name in _written(statement.node)}
    gathered = {name for statement in statements for name in _gathered(statement.node)}
    known: set[str] = set()
    for statement in statements:
        own = _gathered(statement.node)
        for name in _read(statement) & given - known:
            if name not in own:
                yield name
        for name in _written(statement.node):
            if name not in gathered:
                known.add(name)


def _containers(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield what is written at one index and read at another: ``returns[t] = ... returns[t + 1]``."""
    items = [node for statement in statements for node in statement.walk()]
    places = [
        (ast.unparse(item.value), ast.unparse(item.slice), item.ctx)
        for item in items
        if isinstance(item, ast.Subscript)
    ]
    written = {(name, index) for name, index, use in places if isinstance(use, ast.Store)}
    for name, index, use in places:
        elsewhere = (name, index) not in written
        if (
            isinstance(use, ast.Load)
            and elsewhere
            and name in {container for container, _ in written}
        ):
            yield name


def _read_whole(statements: Sequence[Statement]) -> Iterator[str]:
    """Yield what turns fill item by item and read as a whole: ``scores[i] + taken`` where ``taken[best] = inf`` comes after it."""
    nodes = [node for statement in statements for node in statement.walk()]
    # What a turn makes anew is its own.
    own = {name for statement in statements for name in _written(statement.node)}
    filled = {
        ast.unparse(node.value)
        for node in nodes
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and not _is_all(node.slice)
        and _outlives_turns(node.value)
    } - own
    beside = {id(part) for node in nodes for part in _not_read_whole(node)}
    for node in nodes if filled else ():
        is_read = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        if is_read and id(node) not in beside and ast.unparse(node) in filled:
            yield ast.unparse(node)


def _not_read_whole(node: ast.AST) -> Iterator[ast.expr]:
    """Yield that of which the node takes an item, or only asks how large it is."""
    match node:
        case ast.Subscript(value=of):
            yield of
        case ast.Attribute(value=of, attr=name) if name in _OF_SIZE:
            yield of
        case ast.Call(func=ast.Name("len"), args=[of]):
            yield of


def _outlives_turns(container: ast.expr) -> bool:
    """Tell whether it is a variable or an attribute of ``self``; that of anything else may be another one in each turn."""
    match container:
        case ast.Name() | ast.Attribute(value=ast.Name("self")):
            return True
    return False


def _is_all(index: ast.expr) -> bool:
    match index:
        case ast.Slice(lower=None, upper=None, step=None):
            return True
        case ast.Constant(value=value):
            return value is Ellipsis
    return False


def _read(statement: Statement) -> set[str]:
    found = variables_read(*statement.expressions())
    if isinstance(statement.node, ast.AugAssign):
        found |= _written(statement.node)
    return found


def _written(node: ast.stmt) -> set[str]:
    targets = [node.target] if isinstance(node, ast.For) else targets_given(node)
    return variables_assigned(*targets)


def _gathered(node: ast.stmt) -> set[str]:
    """Return what the statement adds to: ``total += x``, ``total = total + x``, ``best = max(best, x)``."""
    if isinstance(node, ast.AugAssign):
        grows = isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.BitOr | ast.BitAnd)
        inside = names_in(node.value)
        return _written(node) - inside if grows else set()
    if not isinstance(node, ast.Assign):
        return set()
    value = node.value
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call) and called_name(value) in _EXTREMES:
        parts = value.args
    return _written(node) & {part.id for part in parts if isinstance(part, ast.Name)}
