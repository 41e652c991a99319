"""Tell whether a tensor holds what an episode has seen so far: made anew of a list that is added to, or the filled part of a buffer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.source.recurrence import is_call_of
from rlprof.source.value import Value
from rlprof.syntax.bound_inputs import arguments_given, values_assigned
from rlprof.syntax.module import PARSED_FILES, Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned, assigned_to, items_of, stores_of

JOINS: Final = frozenset({"stack", "cat", "concatenate", "vstack", "array", "asarray", "tensor", "as_tensor", "FloatTensor"})  # fmt: skip
"""Functions that make one tensor or array of the elements of a list."""

_PUTS_TOGETHER: Final = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})
_BEGINS: Final = re.compile("^(__init__|__post_init__)$|reset|begin|start")
_ADDS: Final = frozenset({"append", "extend"})


class Level(NamedTuple):
    """A statement that calls the one below it, and what was seen there."""

    module: SourceModule
    statement: Statement
    known: Mapping[str, Value]


def is_history(given: ast.expr, levels: Sequence[Level]) -> bool:
    """Tell whether ``given`` is made of one; ``levels`` begin with the statement that it is in, and go on with those that call its function."""
    return _is_history(given, levels, frozenset())


def joined_at(given: ast.expr, levels: Sequence[Level]) -> int | None:
    """Return the index in ``levels`` of the statement where ``given`` is a variable that the loop around joins with something in each turn:
    ``seen = torch.cat([seen, new], 1)``; None where it is none.
    """
    return _joined_at(given, levels, frozenset())


def _joined_at(given: ast.expr, levels: Sequence[Level], seen: frozenset[str]) -> int | None:
    for part in _whole_parts(given, levels[0].module) if levels else ():
        if not isinstance(part, ast.Name) or part.id in seen:
            continue
        if _is_joined_in_turn(part.id, levels[0]):
            return 0
        function = levels[0].statement.function
        for value in values_assigned(levels[0].module, function, part.id):
            if (level := _joined_at(value, levels, seen | {part.id})) is not None:
                return level
        for value in handed_over(part.id, function, levels[1]) if levels[1:] else ():
            if (level := _joined_at(value, levels[1:], frozenset())) is not None:
                return level + 1
    return None


def _is_history(given: ast.expr, levels: Sequence[Level], seen: frozenset[str]) -> bool:
    if not levels:
        return False
    module = levels[0].module
    for part in _whole_parts(given, module):
        match part:
            case ast.Call(args=[joined, *_]) if called_name(part) in JOINS:
                text = ast.unparse(_gone_through(joined))
                if text in _added_to(module) and _grows(text, levels[0]):
                    return True
            case ast.Subscript(value=base, slice=taken):
                axes = items_of(taken)
                is_written = ast.unparse(base) in _written_in_turn(module)
                if is_written and any(map(_is_filled_part, axes)):
                    return True
            case ast.Name(id=name) if _is_joined_in_turn(name, levels[0]):
                return True
            case ast.Name(id=name) if name not in seen:
                made = values_assigned(module, levels[0].statement.function, name)
                if any(_is_history(value, levels, seen | {name}) for value in made):
                    return True
                function = levels[0].statement.function
                handed = handed_over(name, function, levels[1]) if levels[1:] else ()
                if any(_is_history(value, levels[1:], frozenset()) for value in handed):
                    return True
            case ast.Attribute() if ast.unparse(part) in _grown_by_joining(module):
                if ast.unparse(part) not in _cut_off(module):
                    return True
    return False


def _whole_parts(given: ast.expr, module: SourceModule) -> Iterator[ast.AST]:
    """Yield the parts of an expression, but for those of which only the end is taken, ``seen[:, -1:]``, and those that are another at each
    step by what is made of them: ``(seen - self.mean) / self.deviation``.
    """
    parts: list[ast.AST] = [given]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.Subscript) and any(map(_is_end, items_of(part.slice))):
            continue
        if not _is_made_anew(part, module):
            yield part
            parts += ast.iter_child_nodes(part)


def _is_made_anew(part: ast.AST, module: SourceModule) -> bool:
    """Tell whether a sum or a product, or a method of the file, is made with an attribute that changes from step to step."""
    match part:
        case ast.BinOp(left=left, right=right):
            factors = [node for side in (left, right) for node in _factors(side)]
            return any(
                isinstance(node, ast.Attribute)
                and node.attr in _changing(module)
                and ast.unparse(node) not in _grown_by_joining(module)
                for node in factors
            )
        case ast.Call(func=ast.Attribute(attr=name)):
            read = {
                node.attr
                for function in module.functions
                if function.node.name == name and function.class_name
                for operation in ast.walk(function.node)
                if isinstance(operation, ast.BinOp)
                for node in _factors(operation)
                if isinstance(node, ast.Attribute)
            }
            return not read.isdisjoint(_changing(module))
    return False


def _factors(side: ast.expr) -> Iterator[ast.AST]:
    """Yield what a sum or a product is made of: of ``seen[: self.t]`` not where it ends, of ``pad(self.seen)`` nothing."""
    parts: list[ast.AST] = [side]
    while parts:
        part = parts.pop()
        yield part
        if isinstance(part, ast.BinOp):
            parts += [part.left, part.right]


def _is_end(index: ast.expr) -> bool:
    """Tell ``-1`` and ``-8:`` from ``0``, ``None`` and ``:t``."""
    start = index.lower if isinstance(index, ast.Slice) else index
    return isinstance(start, ast.UnaryOp) and isinstance(start.op, ast.USub)


def _gone_through(joined: ast.expr) -> ast.expr:
    """``seen`` of ``[encode(it) for it in seen]``, of ``list(seen)`` and of ``seen`` itself."""
    match joined:
        case ast.ListComp(generators=[first]) | ast.GeneratorExp(generators=[first]):
            return _gone_through(first.iter)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[whole]):
            return _gone_through(whole)
        case ast.Call(args=[inner, *_]) if called_name(joined) in JOINS:
            return _gone_through(inner)
    return joined


def _is_filled_part(index: ast.expr) -> bool:
    """Tell ``[:t + 1]`` from ``[:8]`` and from ``[-8:]``."""
    return (
        isinstance(index, ast.Slice)
        and index.lower is None
        and index.step is None
        and isinstance(index.upper, ast.Name | ast.Attribute | ast.BinOp)
    )


def handed_over(name: str, function: Function | None, above: Level) -> Iterator[ast.expr]:
    """Yield what the calls of ``function`` in the statement above give for one of its arguments."""
    if function is None:
        return
    for call in above.statement.calls():
        if is_call_of(call, function, above.known):
            given = (arguments_given(above.module, call, function) or {}).get(name)
            if given is not None:
                yield given


def _grows(text: str, level: Level) -> bool:
    """Tell whether a list is longer from turn to turn: an attribute, or a variable that the innermost loop around adds to and does not make
    anew; none of which anything is taken away.
    """
    if text in _cut_off(level.module):
        return False
    if "." in text:
        return True
    loop = level.module.innermost_loop(level.statement.first_line)
    nodes = [*ast.walk(loop)] if loop is not None else []
    return not stores_of(text, nodes) and any(_adds_to(node) == text for node in nodes)


def _is_joined_in_turn(name: str, level: Level) -> bool:
    """Tell whether a variable is joined with something in each turn of the innermost loop around, and is nothing else there."""
    loop = level.module.innermost_loop(level.statement.first_line)
    nodes = [*ast.walk(loop)] if loop is not None else []
    made = [*assigned_to(name, nodes)]
    is_all = len(stores_of(name, nodes)) == len(made)
    return bool(made) and is_all and all(_joins(each.value, name) for each in made)


def _joins(value: ast.expr, name: str) -> bool:
    """Tell ``cat([seen, new], 1)``, whole, from ``cat([seen[:, 1:], new], 1)``."""
    match value:
        case ast.Call(
            args=[ast.List(elts=[_, _, *_] as joined) | ast.Tuple(elts=[_, _, *_] as joined), *_]
        ):
            is_one = any(isinstance(part, ast.Name) and part.id == name for part in joined)
            return called_name(value) in _PUTS_TOGETHER and is_one
    return False


def _adds_to(node: ast.AST) -> str:
    """The list that a call adds to; empty for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=to, attr=attr)) if attr in _ADDS:
            return ast.unparse(to)
    return ""


@lru_cache(maxsize=PARSED_FILES)
def _written_in_turn(module: SourceModule) -> frozenset[str]:
    """Texts of the buffers that a file writes single elements to: ``self.buffer[self.t] = obs``."""
    return frozenset(
        ast.unparse(node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and not any(
            isinstance(part, ast.Slice) and (part.lower or part.upper)
            for part in ast.walk(node.slice)
        )
    )


@lru_cache(maxsize=PARSED_FILES)
def _changing(module: SourceModule) -> frozenset[str]:
    """Names of the attributes that a file gives another value, and not where an object or an episode begins."""
    return frozenset(
        node.attr
        for statement in module.statements
        if statement.function is None or not _BEGINS.search(statement.function.node.name)
        for node in statement.walk()
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


@lru_cache(maxsize=PARSED_FILES)
def _cut_off(module: SourceModule) -> frozenset[str]:
    """Texts of what is a window: it was made with a ``maxlen``, or something is taken away from it."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr="pop" | "popleft")):
                found.add(ast.unparse(of))
            case ast.Delete(targets=targets):
                found |= {
                    ast.unparse(target.value)
                    for target in targets
                    if isinstance(target, ast.Subscript)
                }
        for each in assigned(node):
            text = ast.unparse(each.target)
            match each.value:
                case ast.Call(args=args, keywords=keywords) as call if called_name(call) == "deque":
                    if len(args) > 1 or any(keyword.arg == "maxlen" for keyword in keywords):
                        found.add(text)
                case ast.Subscript(value=of) if ast.unparse(of) == text:
                    found.add(text)
    return frozenset(found)


@lru_cache(maxsize=PARSED_FILES)
def _added_to(module: SourceModule) -> frozenset[str]:
    """Texts of the lists that a file adds to, one element at a time or several."""
    return frozenset(text for node in ast.walk(module.tree) if (text := _adds_to(node)))


@lru_cache(maxsize=PARSED_FILES)
def _grown_by_joining(module: SourceModule) -> frozenset[str]:
    """Texts of the attributes that are joined with something and assigned again: ``self.seen = torch.cat([self.seen, new])``."""
    joined = (
        (ast.unparse(each.target), each.value)
        for node in ast.walk(module.tree)
        for each in assigned(node)
        if isinstance(each.target, ast.Attribute)
        and isinstance(each.value, ast.Call)
        and called_name(each.value) in JOINS
    )
    return frozenset(
        text
        for text, value in joined
        if any(
            isinstance(part, ast.Attribute) and ast.unparse(part) == text
            for part in ast.walk(value)
        )
    )
