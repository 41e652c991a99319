"""Lines that copy a batch to a GPU, and what they do to it on the host first."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from rlprof.model.profile import Profile
from rlprof.model.recording import TO_THE_GPU, SyncSite
from rlprof.source.lines import UserLines
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import SourceModule, called_name, variables_assigned
from rlprof.syntax.nodes import assigned, names_in

FEWEST_COPIES: Final = 20
"""Copies by one line from which on it is one of the loop's."""

LEAST_BYTES: Final = 64 << 10
"""Mean size of its copies: less is launches and waits, not data."""

MOST_STEPS_BACK: Final = 3
"""Assignments to variables that are followed from the copy to where its data comes from."""

_MOVES: Final = frozenset({"to", "cuda"})
_BYTES: Final = frozenset({"u1", "i1", "b1", "torch.uint8", "torch.int8", "torch.bool"})
"""Types of one byte an item: images, masks, actions."""
_FLOATS: Final = ("float16", "float32", "float64", "float", "double")
_FLOATING: Final = frozenset({"float", "double", "half", "FloatTensor"})


class HostWork(Enum):
    """Work on a batch before it is copied."""

    MADE_FLOATS = "made floats of single bytes"
    PICKED = "picked out of a larger array"


@dataclass(frozen=True, slots=True)
class Upload:
    """A line that copies, with the lines of its function that make what it copies."""

    site: SyncSite
    lines: frozenset[int]
    work: HostWork
    source: str
    """The array that the batch is made of, in words."""
    source_bytes: int


def uploads_of_worked_on(profile: Profile, lines: UserLines) -> Iterator[Upload]:
    """Yield the lines that copy to a GPU what was made from single bytes, or picked out of something larger, on the host."""
    values = Values(profile.values)
    for site in profile.sync_sites if values else ():
        if TO_THE_GPU not in site.method or site.calls < FEWEST_COPIES:
            continue
        module = lines.module(site.file) if site.bytes >= LEAST_BYTES * site.calls else None
        if module is not None and (found := _upload(site, module, values)) is not None:
            yield found


def _upload(site: SyncSite, module: SourceModule, values: Values) -> Upload | None:
    for made in _made_of(site.line, module):
        known = values.between(site.file, made.at)
        found = (
            (HostWork.MADE_FLOATS, _bytes_made_floats(made.expression, known)),
            (HostWork.PICKED, _larger_source(made, known, module)),
        )
        for work, source in found:
            if source:
                text = f"{source}: {known[source].in_words()}"
                return Upload(site, made.lines, work, text, _size(known[source]))
    return None


class _Made(NamedTuple):
    """An expression that a batch is made by."""

    expression: ast.expr
    at: range
    """Its lines."""
    lines: frozenset[int]
    """Those and all from there to the copy."""


def _made_of(line: int, module: SourceModule) -> Iterator[_Made]:
    """Yield what a line copies, and what variables in that were given before it in the function."""
    function = module.function_at(line)
    inside = module.of_function(function)
    pending = [
        (_Made(moved, statement.lines, frozenset(statement.lines)), MOST_STEPS_BACK)
        for statement in module.statements_at(line)
        for call in statement.calls()
        if (moved := _moved(call)) is not None
    ]
    while pending:
        made, steps = pending.pop(0)
        yield made
        names = names_in(made.expression)
        before = [other for other in inside if other.last_line < made.at.start]
        for statement in reversed(before) if steps else ():
            for one in assigned(statement.node):
                if isinstance(one.target, ast.Name) and one.target.id in names:
                    names.discard(one.target.id)
                    lines = made.lines.union(statement.lines)
                    pending.append((_Made(one.value, statement.lines, lines), steps - 1))


def _moved(call: ast.Call) -> ast.expr | None:
    """Return what a call moves to the GPU; None where it does not, or what it moves is there already."""
    if not _is_move(call) or not isinstance(call.func, ast.Attribute):
        return None
    before = call.func.value
    return None if any(map(_is_move, ast.walk(before))) else before


def _is_move(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _MOVES
    )


def _bytes_made_floats(expression: ast.expr, known: Mapping[str, Value]) -> str:
    """Return the largest array of single bytes in ``expression``, as written, where that makes floats; empty for none."""
    if not any(_makes_floats(node) for node in ast.walk(expression)):
        return ""
    found = [
        text
        for node in ast.walk(expression)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
        and (value := known.get(text := ast.unparse(node))) is not None
        and value.is_array
        and value.is_on_cpu
        and value.fields.get("dtype", "") in _BYTES
    ]
    return max(found, key=lambda name: _size(known[name]), default="")


def _makes_floats(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Div()):
            return True
        case ast.Call() if called_name(node) in _FLOATING:
            return True
        case ast.Call(args=args, keywords=keywords):
            given = [*args, *(keyword.value for keyword in keywords if keyword.arg == "dtype")]
            return any(ast.unparse(argument).strip("'\"").endswith(_FLOATS) for argument in given)
    return False


def _larger_source(made: _Made, known: Mapping[str, Value], module: SourceModule) -> str:
    """Return the array on the host that many rows are taken out of, again and again, by an array of their numbers; empty for none."""
    for node in ast.walk(made.expression):
        if not isinstance(node, ast.Subscript):
            continue
        index, source = value_of(node.slice, known), value_of(node.value, known)
        if index is None or source is None or not index.is_array or not source.is_array:
            continue
        rows = (source.shape or (0,))[0]
        is_picked = source.is_on_cpu and 1 < (index.numbers or 0) < rows
        if is_picked and _outlives_a_use(node.value, made.at.start, module):
            return ast.unparse(node.value)
    return ""


def _outlives_a_use(source: ast.expr, line: int, module: SourceModule) -> bool:
    """Tell whether an array is there for more than one use: an attribute, or a variable that was given before a loop around ``line``."""
    if not isinstance(source, ast.Name):
        return isinstance(source, ast.Attribute)
    names = _gone_through(source.id, line, module) or {source.id}
    function = module.function_at(line)
    inside = module.of_function(function)
    loops = [*module.loops_around(line)]
    if not loops:
        return False
    outermost = min(loop.lineno for loop in loops)
    given = {
        name: statement.first_line
        for statement in inside
        for name in variables_assigned(*statement.expressions()) & names
    }
    return given.keys() == names and all(at < outermost for at in given.values())


def _gone_through(name: str, line: int, module: SourceModule) -> set[str]:
    """Return the variables that a comprehension on ``line`` has ``name`` stand for in turn."""
    return {
        part.id
        for statement in module.statements_at(line)
        for node in statement.walk()
        if isinstance(node, ast.comprehension)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
        for part in ast.walk(node.iter)
        if isinstance(part, ast.Name)
    }


def _size(value: Value) -> int:
    """Bytes of an array: numpy's ``f4`` has 4 an item, torch's ``torch.float32`` as many."""
    dtype = value.fields.get("dtype", "")
    digits = int("".join(digit for digit in dtype if digit.isdigit()) or 8)
    each = digits // 8 if dtype.startswith("torch.") else min(digits, 8)
    return (value.numbers or 0) * max(1, each)
