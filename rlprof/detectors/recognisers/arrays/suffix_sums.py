"""Discounted sums of all that follows, added up anew for each step: as many turns as there are pairs of steps."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.recording import Frame
from rlprof.source.lines import Line
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.module import SourceModule, called_name, variables_assigned, variables_read
from rlprof.syntax.nodes import assigned, calls_in, names_in, nodes_in, operands_of, without_index

_OF_POWERS: Final = frozenset({"power", "float_power", "pow", "cumprod"})
_SUMS: Final = frozenset({"sum", "fsum", "dot", "inner"})

_ForLoop: TypeAlias = ast.For | ast.AsyncFor


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
    ``discount *= gamma`` in each turn. Nothing else of what is added may depend on the step that it begins with.
    """
    statements = module.statements_at(line)
    own = [node for statement in statements for node in statement.walk()]
    # To go on to the next turn of such a loop is a part of it.
    begun = [each.node for each in statements if isinstance(each.node, ast.For | ast.AsyncFor)]
    inside = [*own, *nodes_in(*(part for loop in begun for part in loop.body))]
    loops = [*module.loops_around(line), *begun]
    bindings = [*loops, *(node for node in own if isinstance(node, ast.comprehension))]
    for follows in (*own, *nodes_in(*(loop.iter for loop in loops))):
        step = _first_step(follows)
        around = next((each for each in bindings if step in variables_assigned(each.target)), None)
        if step and around is not None:
            one = _StepSum(module, line, follows, step, around)
            if one.is_told(inside, loops):
                return ast.unparse(follows)
    return ""


def _first_step(node: ast.AST) -> str:
    """Return the variable that it goes on from to the end, as in ``range(t, T)`` or ``rewards[t:]``; empty where it goes to a place so many steps later."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=first), end]):
            return first if first not in variables_read(end) else ""
        case ast.Subscript(slice=ast.Slice(lower=ast.Name(id=first), upper=None, step=None)):
            return first
    return ""


class _StepSum:
    """A sum of all from one step on."""

    def __init__(
        self,
        module: SourceModule,
        line: int,
        follows: ast.AST,
        step: str,
        around: _ForLoop | ast.comprehension,
    ) -> None:
        self._module = module
        self._line = line
        self._follows = follows
        self._step = step
        self._body = [] if isinstance(around, ast.comprehension) else around.body
        """What is done for each step; nothing where that is a comprehension."""
        self._of_step = set(variables_assigned(around.target))
        """Names whose values are others for a sum that begins with another step."""

    def is_told(self, own: Sequence[ast.AST], loops: Sequence[_ForLoop]) -> bool:
        for node in own:
            if isinstance(node, ast.GeneratorExp | ast.ListComp) and self._runs_over(node):
                return self._is_sum_of(own, node)
        inner = next((loop for loop in loops if self._is_in(loop.iter)), None)
        if inner is not None:
            return self._is_added_in(own, inner)
        return any(
            self._is_free(each) and any(_is_power_of(part, ()) for part in ast.walk(each))
            for each in _summed(own)
            if self._is_in(each)
        )

    def _runs_over(self, node: ast.GeneratorExp | ast.ListComp) -> bool:
        return any(self._is_in(each.iter) for each in node.generators)

    def _is_in(self, part: ast.AST) -> bool:
        return self._follows in ast.walk(part)

    def _is_sum_of(self, own: Sequence[ast.AST], node: ast.GeneratorExp | ast.ListComp) -> bool:
        """Tell whether powers times what follows are added up by a comprehension."""
        (first, *rest) = node.generators
        self._count(first.target, first.iter)
        self._follow_made()
        powers = any(_is_power_of(each, names_in(first.target)) for each in ast.walk(node.elt))
        return (
            not rest
            and any(node in ast.walk(each) for each in _summed(own))
            and (powers or self._goes_along_powers(first.iter))
            and self._ends_anyhow()
            and all(map(self._is_free, (node.elt, *first.ifs)))
        )

    def _is_added_in(self, own: Sequence[ast.AST], inner: _ForLoop) -> bool:
        """Tell whether the turns of a loop add them up."""
        self._count(inner.target, inner.iter)
        inside = list(nodes_in(*inner.body))
        changed = {
            node.target.id
            for node in inside
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        turned = {
            node.id
            for node in (*ast.walk(inner.target), *inside)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self._of_step |= {name for node in inside for name in _counters(node)}
        self._follow_made()
        added = list(_added(inside))
        tests = [node.test for node in inside if isinstance(node, ast.If | ast.IfExp | ast.While)]
        return (
            bool(added)
            and self._ends_anyhow()
            and all(map(self._is_free, (*added, *tests)))
            # A sum that ends once so much has been added ends elsewhere where it begins elsewhere.
            and changed.isdisjoint(names_in(*tests))
            and (
                any(_is_power_of(each, turned) for each in own)
                or self._multiplies_up(inner, added)
                or self._goes_along_powers(inner.iter)
            )
        )

    def _count(self, target: ast.expr, over: ast.expr) -> None:
        """Take in a counter that begins anew with each step: ``i`` of ``enumerate(rewards[t:])``."""
        match target, over:
            case (
                ast.Tuple(elts=[ast.Name(id=counter), *_]),
                ast.Call(func=ast.Name(id="enumerate")),
            ):
                self._of_step.add(counter)

    def _follow_made(self) -> None:
        """Take in all that is made of the step for it: ``goal = goals[t]``."""
        before = 0
        while before < len(self._of_step):
            before = len(self._of_step)
            for node in nodes_in(*self._body):
                for each in assigned(node):
                    if not self._is_free(each.value):
                        self._of_step |= names_in(without_index(each.target))

    def _is_free(self, part: ast.AST) -> bool:
        """Tell whether nothing in it depends on the step that a sum begins with, but exponents and what is gone through from there on."""
        pending = [part]
        while pending:
            node = pending.pop()
            match node:
                case ast.Name(id=name):
                    if name in self._of_step:
                        return False
                case ast.BinOp(left=base, op=ast.Pow()):
                    pending.append(base)
                case _ if _first_step(node) != self._step:
                    pending += ast.iter_child_nodes(node)
        return True

    def _ends_anyhow(self) -> bool:
        """Tell whether the last step that is added is the same for all: not ``end`` of ``end = min(t + n, T)``."""
        match self._follows:
            case ast.Call(args=[_, end]):
                return self._is_free(end)
        return True

    def _multiplies_up(self, inner: _ForLoop, added: Sequence[ast.expr]) -> bool:
        """Tell whether a factor in what is added begins anew with each step, and is multiplied in each turn by something that does not depend on where
        it began.
        """
        anew = {
            name
            for node in self._body
            if isinstance(node, ast.Assign)
            for name in variables_assigned(*node.targets)
        }
        factors = {
            node.target.id
            for node in inner.body
            if isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Mult)
            and isinstance(node.target, ast.Name)
            and self._is_free(node.value)
        }
        multiplied = {
            part.id
            for value in added
            for part in operands_of(value, ast.Mult)
            if isinstance(part, ast.Name)
        }
        return bool(factors & anew & multiplied)

    def _goes_along_powers(self, over: ast.expr) -> bool:
        """Tell whether what follows is gone through along with powers that were made before: ``zip(discounts, rewards[t:])``."""
        function = self._module.function_at(self._line)
        for call in calls_in(over):
            match call:
                case ast.Call(func=ast.Name(id="zip"), args=[one, other]) if self._follows in (
                    one,
                    other,
                ):
                    beside = other if one is self._follows else one
                    made = (
                        only_value(function, beside.id)
                        if function and isinstance(beside, ast.Name)
                        else None
                    )
                    if made is not None and any(map(_makes_powers, ast.walk(made))):
                        return True
        return False


def _summed(own: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield what a line adds up by one call."""
    for node in own:
        if isinstance(node, ast.Call) and called_name(node) in _SUMS:
            yield node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node


def _added(inside: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """Yield what is added to something: ``x`` of ``total += x`` and of ``total = total + x``."""
    for node in inside:
        match node:
            case ast.AugAssign(op=ast.Add(), value=value):
                yield value
            case ast.Assign(targets=[target], value=ast.BinOp(left, ast.Add(), right)):
                sides = {ast.unparse(side): side for side in (left, right)}
                if sides.pop(ast.unparse(target), None) is not None:
                    yield from sides.values()


def _counters(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.AugAssign(ast.Name(id=name), ast.Add() | ast.Sub(), ast.Constant()):
            yield name


def _is_power_of(node: ast.AST, turned: Collection[str]) -> bool:
    """Tell whether it is a power of one number, whose exponent is another one for each that is added: by a name that the turns give a value, or a range."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Pow):
        return False
    if names_in(node.left) & set(turned) or any(map(_is_row, ast.walk(node.left))):
        return False
    return bool(names_in(node.right) & set(turned)) or any(map(_is_row, ast.walk(node.right)))


def _is_row(node: ast.AST) -> bool:
    """Tell whether it gives many numbers: a range, or a part of an array."""
    return isinstance(node, ast.Slice) or (
        isinstance(node, ast.Call) and called_name(node) == "arange"
    )


def _makes_powers(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Pow()):
            return True
        case ast.Call():
            return called_name(node) in _OF_POWERS
    return False
