"""Loops and comprehensions over containers: what each turn is given, and of which container."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.module import Comprehension, SourceModule
from rlprof.syntax.nodes import lines_of, made_each_turn

_SIDE_BY_SIDE: Final = frozenset({"zip", "enumerate", "tqdm", "list", "tuple", "reversed"})
_OF_A_DICT: Final = frozenset({"values", "items", "children", "named_children"})


class Turns(NamedTuple):
    """One loop, a comprehension, or a ``map`` of a function that is written there."""

    elements: Mapping[str, ast.expr]
    """Names that a turn gives a value, with the container that it is an element, or the number, of."""
    body: Sequence[ast.AST]
    lines: range
    at_times: Sequence[ast.AST] = ()
    """Parts of the body that not every turn comes to."""

    def container(self, element: ast.expr) -> ast.expr | None:
        """Return the container that ``element`` is of: a name of the turn's own, or an item by its number; None for anything else."""
        match element:
            case ast.Name(id=name) if name in self.elements:
                source = self.elements[name]
                return None if isinstance(source, ast.Call) else source
            case ast.Subscript(value=of, slice=ast.Name(id=name)) if name in self.elements:
                return of
        return None


def turns_at(module: SourceModule, line: int) -> Iterator[Turns]:
    """Yield the comprehensions and maps on a line, and the loops around it, the innermost first."""
    for statement in module.statements_at(line):
        for node in statement.walk():
            match node:
                case ast.Call(
                    func=ast.Name(id="map"), args=[ast.Lambda(args=given, body=body), *parts]
                ):
                    each = zip((argument.arg for argument in given.args), parts, strict=False)
                    yield Turns(dict(each), [body], statement.lines)
            if isinstance(node, Comprehension):
                made = made_each_turn(node)
                made += [test for generator in node.generators for test in generator.ifs]
                of = [
                    pair
                    for generator in node.generators
                    for pair in elements(generator.target, generator.iter)
                ]
                has_tests = any(generator.ifs for generator in node.generators)
                yield Turns(dict(of), made, statement.lines, made if has_tests else ())
    for loop in reversed([*module.loops_around(line)]):
        lines = lines_of(loop)
        at_times = [*_under_conditions(loop.body)]
        yield Turns(dict(elements(loop.target, loop.iter)), loop.body, lines, at_times)


def _under_conditions(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for part in body:
        for node in ast.walk(part):
            if isinstance(node, ast.If):
                yield from (*node.body, *node.orelse)


def elements(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a turn gives a value, with the container that it is an element of, or what counts: ``enumerate(...)``, ``range(...)``."""
    match iterated, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[of, *_]), ast.Tuple(elts=[number, each]):
            yield from elements(number, iterated)
            yield from elements(each, of)
        case ast.Call(func=ast.Name(id="zip"), args=parts), ast.Tuple(elts=targets):
            for each, of in zip(targets, parts, strict=False):
                yield from elements(each, of)
        case ast.Call(func=ast.Attribute(value=of, attr=attr)), ast.Tuple(elts=[key, each]) if (
            attr in _OF_A_DICT
        ):
            yield from elements(key, iterated)
            yield from elements(each, of)
        case ast.Call(func=ast.Attribute(value=of, attr=attr)), ast.Name() if attr in _OF_A_DICT:
            yield from elements(target, of)
        case ast.Call(func=ast.Name(id=name), args=[of, *_]), ast.Name() if name in _SIDE_BY_SIDE:
            yield from elements(target, of)
        case _, ast.Name(id=name):
            yield name, iterated
