"""Discounted sums of all that follows, added up anew for each step: as many turns as there are pairs of steps."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.recording import Frame
from rlprof.source.lines import Line
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.module import SourceModule, called_name, variables_assigned, variables_read
from rlprof.syntax.nodes import nodes_in, operands_of

_OF_POWERS: Final = frozenset({"power", "float_power", "pow", "cumprod"})


@dataclass(slots=True)
class SuffixSum:
    """A line that adds up what follows a step."""

    place: Line
    follows: str
    """What it goes through, as written: ``range(t, T)``, ``rewards[t:]``."""
    nodes: set[int] = field(default_factory=set)


class SuffixSums(SteadySearch):
    """Finds them in the steady phase."""

    def found(self) -> Collection[SuffixSum]:
        return self.causes_on_lines(self._read)

    def _read(self, node: int, frame: Frame) -> SuffixSum | None:
        module = self.lines.module(frame.file)
        follows = follows_at(module, frame.line) if module is not None else ""
        return SuffixSum(self.lines.line(node), follows) if follows else None


def follows_at(module: SourceModule, line: int) -> str:
    """Return what a line goes through from the step of a loop around it on to the end, where it adds up powers times what is there; empty where it
    does not: ``sum(gamma ** (k - t) * rewards[k] for k in range(t, T))`` for each ``t``. Powers are written there, kept in a list, or had by
    ``discount *= gamma`` in each turn.
    """
    statements = module.statements_at(line)
    own = [node for statement in statements for node in statement.walk()]
    loops = list(module.loops_around(line))
    turned = variables_assigned(*(loop.target for loop in loops))
    turned |= variables_assigned(
        *(node.target for node in own if isinstance(node, ast.comprehension))
    )
    around = nodes_in(*(loop.iter for loop in loops))
    follows = [each for each in (*own, *around) if _goes_on_from(each, turned)]
    if not follows or not (
        any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) for node in own)
        or _multiplies_up(loops)
        or _goes_along_powers(module, line, follows[0], [*own, *(loop.iter for loop in loops)])
    ):
        return ""
    return ast.unparse(follows[0])


def _multiplies_up(loops: Sequence[ast.For | ast.AsyncFor]) -> bool:
    """Tell whether the inner loop adds up products of a factor that begins anew in each turn of the one around it, and is multiplied in each turn of its
    own by something that does not depend on where it began.
    """
    if len(loops) < 2:
        return False
    outer, inner = loops[-2:]
    steps = variables_assigned(outer.target)
    anew = {
        name
        for node in outer.body
        if isinstance(node, ast.Assign)
        for name in variables_assigned(*node.targets)
    }
    factors: set[str] = set()
    added: set[str] = set()
    for node in inner.body:
        match node:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=by):
                if not variables_read(by) & steps:
                    factors.add(name)
            case ast.AugAssign(target=ast.Name() | ast.Subscript(), op=ast.Add(), value=value):
                if not variables_read(value) & steps:
                    added |= {
                        part.id
                        for part in operands_of(value, ast.Mult)
                        if isinstance(part, ast.Name)
                    }
    return bool(factors & anew & added)


def _goes_along_powers(
    module: SourceModule, line: int, follows: ast.AST, parts: Sequence[ast.AST]
) -> bool:
    """Tell whether what follows is gone through along with powers that were made before: ``zip(discounts, rewards[t:])``."""
    function = module.function_at(line)
    for node in nodes_in(*parts):
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=[one, other]) if follows in (one, other):
                beside = other if one is follows else one
                made = (
                    only_value(function, beside.id)
                    if function and isinstance(beside, ast.Name)
                    else None
                )
                if made is not None and any(map(_makes_powers, ast.walk(made))):
                    return True
    return False


def _makes_powers(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow()):
            return True
        case ast.Call():
            return called_name(node) in _OF_POWERS
    return False


def _goes_on_from(node: ast.AST, steps: Collection[str]) -> bool:
    """Tell whether it goes from a step to the end, ``range(t, T)`` or ``rewards[t:]``, and not to a place so many steps later."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=first), end]):
            return first in steps and first not in variables_read(end)
        case ast.Subscript(slice=ast.Slice(lower=ast.Name(id=first), upper=None, step=None)):
            return first in steps
    return False
