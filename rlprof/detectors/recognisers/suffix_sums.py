"""Discounted sums of all that follows, added up anew for each step: as many turns as there are pairs of steps."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.recording import Frame
from rlprof.source.lines import Line
from rlprof.syntax.module import SourceModule, variables_assigned, variables_read
from rlprof.syntax.nodes import nodes_in


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
    does not: ``sum(gamma ** (k - t) * rewards[k] for k in range(t, T))`` for each ``t``.
    """
    statements = module.statements_at(line)
    own = [node for statement in statements for node in statement.walk()]
    loops = list(module.loops_around(line))
    if not any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) for node in own):
        return ""
    turned = variables_assigned(*(loop.target for loop in loops))
    turned |= variables_assigned(
        *(node.target for node in own if isinstance(node, ast.comprehension))
    )
    around = nodes_in(*(loop.iter for loop in loops))
    return next((ast.unparse(each) for each in (*own, *around) if _goes_on_from(each, turned)), "")


def _goes_on_from(node: ast.AST, steps: Collection[str]) -> bool:
    """Tell whether it goes from a step to the end, ``range(t, T)`` or ``rewards[t:]``, and not to a place so many steps later."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=first), end]):
            return first in steps and first not in variables_read(end)
        case ast.Subscript(slice=ast.Slice(lower=ast.Name(id=first), upper=None, step=None)):
            return first in steps
    return False
