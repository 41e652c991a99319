"""Tell whether the steps of a recurrent network in a loop could be one call: what a turn's input and state are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.source.loop_turns import carried
from rlprof.source.recurrent_values import (
    FIRST,
    NOTHING,
    Touch,
    Trail,
    is_object_of,
    joined,
    joined_parts,
    recurrent_kind,
    step_work,
)
from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.module import (
    Function,
    SourceModule,
    Statement,
    called_name,
    variables_assigned,
)
from rlprof.syntax.nodes import arguments_of, given_to, nodes_in, positional_of, targets_of

ForLoop = ast.For | ast.AsyncFor

_SAME: Final = frozenset(
    {
        "view",
        "reshape",
        "squeeze",
        "unsqueeze",
        "contiguous",
        "to",
        "float",
        "clone",
        "transpose",
        "permute",
    }
    | {
        "expand",
        "flatten",
        "chunk",
        "unbind",
        "split",
        "cpu",
        "cuda",
        "tuple",
        "list",
        "zip",
        "stack",
        "cat",
    }
)
"""Calls that give a state another form."""

_RESETS: Final = frozenset(
    {"where", "masked_fill", "masked_fill_", "mul", "mul_", "multiply", "index_fill", "index_fill_"}
)
"""Calls that can set a state to zero."""

_STATES: Final = frozenset({"hx", "h_0", "state", "hidden"})
"""Keywords by which torch's recurrent networks take the state."""


class CallingFunction(NamedTuple):
    """A function on the way from the loop to the network, or the one with the loop."""

    module: SourceModule
    line: int
    """The line that calls the next one, or the network."""
    known: Mapping[str, Value]
    """Values seen in that function, those of the line itself first."""


class Asked(NamedTuple):
    """The call of a recurrent network."""

    network: Value
    state: Value | None
    """The tensor, or the pair, that goes in; the largest where several were seen."""
    touch: Touch


def asked_in_turn(levels: Sequence[CallingFunction], loop: ForLoop) -> Asked | None:
    """Return how a network is asked in a turn of ``loop``; None where all turns could not be one call, or the sources do not show it.

    That is the case where its input needs the answer to the step before (a sampled latent, an action), or where it is
    given no state of the step before. ``levels`` go from the loop's function to the one that asks.
    """
    start = dict.fromkeys(_of_turns_before(levels, loop), FIRST)
    asked: Asked | None = None
    touch = Touch.NONE
    # What a turn does to the state after the call, the next one sees.
    for _ in range(2):
        turn = _LoopTurn(levels, dict(start))
        turn.run(0, _statements(levels[0].module, loop))
        asked = turn.asked
        if asked is None or turn.is_fed:
            return None
        touch = max(touch, asked.touch)
        start = {
            name: Trail(True, max(Touch.KEPT, turn.names.get(name, FIRST).touch))
            for name in {*start, *turn.told}
        }
    kept = touch in (Touch.KEPT, Touch.RESET)
    return asked._replace(touch=touch) if asked is not None and kept else None


def _of_turns_before(levels: Sequence[CallingFunction], loop: ForLoop) -> set[str]:
    """Return the variables, attributes and containers that a turn has of the one before."""
    body = _statements(levels[0].module, loop)
    # What a turn writes before it reads it, it has of itself: who follows its statements in order sees that.
    assigned = (variables_assigned(*_targets(inner.node)) for inner in body)
    found = set(carried(body)).union(*assigned)
    inside = list(body)
    for level in levels[1:]:
        function = level.module.function_at(level.line)
        inside += level.module.of_function(function)
    for statement in inside:
        for target in _targets(statement.node):
            found.update(
                ast.unparse(attribute)
                for attribute in ast.walk(target)
                if isinstance(attribute, ast.Attribute)
            )
    for statement in body:
        match statement.node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=of))):
                found.add(ast.unparse(of))
    # What the loop itself gives to each turn is new.
    return found - variables_assigned(loop.target) - {"self"}


class _LoopTurn:
    """One turn of the loop, followed to the call and on to its end."""

    def __init__(self, levels: Sequence[CallingFunction], names: dict[str, Trail]) -> None:
        self._levels = levels
        self.names = names
        """What variables and attributes, as written, have of the turns before."""
        self.asked: Asked | None = None
        self.is_fed = False
        """True if the input needs the turns before."""
        self.told: set[str] = set()
        """Objects that were told, by a method, something of the turns before or of this one's answer."""
        self._here = 0
        self._target: Statement | None = None
        self._unsure: frozenset[int] = frozenset()
        """Statements of the level that may be left out in a turn, by their ids."""

    def run(self, here: int, statements: Sequence[Statement]) -> Trail:
        """Follow ``statements`` of a level, and return the trail of what they return."""
        outer = self._here, self._target, self._unsure
        self._here = here
        level = self._levels[here]
        self._target = level.module.statement_at(level.line)
        self._unsure = frozenset(_may_be_left_out(statements, self._target))
        returned = NOTHING
        for statement in statements:
            returned = joined_parts(returned, self._follow(statement))
        self._here, self._target, self._unsure = outer
        return returned

    def _follow(self, statement: Statement) -> Trail:
        node = statement.node
        sure = id(node) not in self._unsure
        match node:
            case ast.Return(value=ast.expr() as value):
                return self._trail(value)
            case ast.Assign(value=value):
                trail = self._trail(value)
                for target in node.targets:
                    self._assign(target, trail, sure)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._trail(value), sure)
            case ast.AugAssign(target=target, value=value):
                trail = joined([self._trail(target), self._trail(value)])
                is_product = isinstance(node.op, ast.Mult)
                self._assign(
                    target, trail.touched(Touch.RESET if is_product else Touch.CHANGED), sure
                )
            case ast.For(target=target, iter=iterated):
                self._assign(target, self._trail(iterated), True)
            case _:
                for expression in statement.expressions():
                    self._trail(expression)
        return NOTHING

    def _assign(self, target: ast.expr, trail: Trail, sure: bool) -> None:
        match target:
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                parts = trail.parts if len(trail.parts) == len(targets) else ()
                for number, part in enumerate(targets):
                    self._assign(part, parts[number] if parts else trail, sure)
            case ast.Starred(value=value):
                self._assign(value, trail, sure)
            case ast.Subscript(value=of):
                # A part of it is written, as where a state is reset.
                before = self._trail(of)
                self._assign(of, joined([before.touched(Touch.RESET), trail]), True)
            case ast.Name() | ast.Attribute():
                name = ast.unparse(target)
                before = self.names.get(name, NOTHING)
                if not sure and (before.touch or trail.touch):
                    trail = joined([before, trail])._replace(
                        touch=max(Touch.RESET, before.touch, trail.touch)
                    )
                self.names[name] = trail

    def _trail(self, node: ast.expr) -> Trail:
        match node:
            case ast.Name():
                return self.names.get(node.id, NOTHING)
            case ast.Attribute(value=of):
                return self.names.get(ast.unparse(node)) or self._trail(of)._replace(parts=())
            case ast.Subscript(value=of, slice=index):
                known = self.names.get(ast.unparse(node))
                at = self._trail(index)
                return known or joined([self._trail(of), Trail(at.feeds)])
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                trails = tuple(self._trail(part) for part in parts)
                return joined(trails)._replace(parts=trails)
            case ast.Starred(value=of):
                return self._trail(of)
            case ast.Dict(values=parts):
                return joined(map(self._trail, parts))
            case ast.NamedExpr(target=target, value=value):
                trail = self._trail(value)
                self._assign(target, trail, True)
                return trail
            case ast.IfExp(test=test, body=body, orelse=orelse):
                either = joined([self._trail(body), self._trail(orelse)])
                return joined([either.touched(Touch.RESET), Trail(self._trail(test).feeds)])
            case ast.BinOp(left=left, op=op, right=right):
                both = joined([self._trail(left), self._trail(right)])
                # ``mask * state + (1 - mask) * first``.
                adds = isinstance(op, ast.Add) and both.touch is Touch.RESET
                resets = adds or isinstance(op, ast.Mult)
                return both.touched(Touch.RESET if resets else Touch.CHANGED)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                for generator in node.generators:
                    self._assign(generator.target, self._trail(generator.iter), True)
                return self._trail(node.elt)._replace(parts=())
            case ast.Lambda() | ast.Constant():
                return NOTHING
            case ast.Call():
                return self._call(node)
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return joined(map(self._trail, inner)).touched(Touch.CHANGED)

    def _call(self, call: ast.Call) -> Trail:
        level = self._levels[self._here]
        of_target = self._target is not None and call in self._target.walk()
        if of_target and self._here + 1 < len(self._levels):
            below = self._levels[self._here + 1]
            function = below.module.function_at(below.line)
            if function is not None and is_call_of(call, function, level.known):
                return self._enter(call, function)
        network = value_of(call.func, level.known)
        if network is not None and recurrent_kind(network):
            return self._ask(call, network, of_target and self._here + 1 == len(self._levels))
        parts = given_to(call)
        trails = [self._trail(part) for part in parts]
        if isinstance(call.func, ast.Attribute):
            self._tell(call.func.value, joined(trails))
            trails.append(self._trail(call.func.value))
        name, trail = called_name(call), joined(trails)
        if name in _SAME:
            return trail
        return trail.touched(Touch.RESET if name in _RESETS else Touch.CHANGED)

    def _tell(self, of: ast.expr, trail: Trail) -> None:
        """Note that an object is told something by a method: an environment has another state then, and a list another item."""
        name = ast.unparse(of) if isinstance(of, ast.Name | ast.Attribute) else "self"
        level = self._levels[self._here]
        value = level.known.get(name)
        is_network = value is not None and value.is_network
        is_module = name.partition(".")[0] in level.module.imports
        if trail.touch and name != "self" and not is_network and not is_module:
            self.names[name] = joined([self.names.get(name, NOTHING), FIRST])
            self.told.add(name)

    def _ask(self, call: ast.Call, network: Value, is_it: bool) -> Trail:
        given = [
            *call.args[1:2],
            *(keyword.value for keyword in call.keywords if keyword.arg in _STATES),
        ]
        fed = self._trail(call.args[0]).feeds if call.args else True
        trail = joined(map(self._trail, given))
        if is_it:
            self.is_fed |= fed
            known = self._levels[self._here].known
            touch = max(trail.touch, self.asked.touch) if self.asked else trail.touch
            self.asked = Asked(network, _largest(given, known), touch)
        # What it answers to all steps could be had before anything else is done.
        return Trail(fed, max(Touch.KEPT, trail.touch))

    def _enter(self, call: ast.Call, function: Function) -> Trail:
        is_bound = bool(function.class_name) and not function.is_static
        names = positional_of(function.node)[is_bound:]
        given: dict[str, Trail] = {}
        rest = NOTHING
        for number, argument in enumerate(call.args):
            trail = self._trail(argument)
            if isinstance(argument, ast.Starred) or number >= len(names):
                rest = joined([rest, trail])
            else:
                given[names[number]] = trail
        for keyword in call.keywords:
            trail = self._trail(keyword.value)
            if keyword.arg is None:
                rest = joined([rest, trail])
            else:
                given[keyword.arg] = trail
        every = arguments_of(function.node)[is_bound:]
        given |= {name: rest for name in every if name not in given}
        attributes = {name: trace for name, trace in self.names.items() if "." in name}
        outer, self.names = self.names, attributes | given
        module = self._levels[self._here + 1].module
        inside = module.of_function(function)
        returned = self.run(self._here + 1, inside)
        outer |= {name: trace for name, trace in self.names.items() if "." in name}
        self.names = outer
        return returned


def is_call_of(call: ast.Call, function: Function, known: Mapping[str, Value]) -> bool:
    """Tell whether ``call`` may be of ``function``."""
    if called_name(call) == function.node.name:
        return True
    value = value_of(call.func, known)
    is_object = function.node.name in ("forward", "__call__") and value is not None
    return is_object and value is not None and is_object_of(value, function.class_name)


def _largest(given: Sequence[ast.expr], known: Mapping[str, Value]) -> Value | None:
    """Return the largest of the tensors, or pairs of them, that are mentioned in what is given as a state."""
    mentioned = [known[text] for node in nodes_in(*given) if (text := _text(node)) in known]
    return max(filter(step_work, mentioned), key=step_work, default=None)


def _text(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""


def _statements(module: SourceModule, loop: ForLoop) -> list[Statement]:
    last = loop.end_lineno or loop.lineno
    around = module.of_function(module.function_at(loop.lineno))
    return [each for each in around if loop.lineno < each.first_line <= last]


def _may_be_left_out(statements: Iterable[Statement], target: Statement | None) -> Iterator[int]:
    """Yield the ids of what stands in branches, but for those that ``target`` is in."""
    for statement in statements:
        branches: list[Sequence[ast.stmt]] = []
        match statement.node:
            case ast.If(body=body, orelse=orelse):
                branches = [body, orelse]
            case ast.Try(handlers=handlers):
                branches = [handler.body for handler in handlers]
            case ast.Match(cases=cases):
                branches = [case.body for case in cases]
        for branch in branches:
            inside = list(nodes_in(*branch))
            if target is None or not any(inner is target.node for inner in inside):
                yield from (id(inner) for inner in inside if isinstance(inner, ast.stmt))


def _targets(node: ast.stmt) -> list[ast.expr]:
    return [node.target] if isinstance(node, ast.AugAssign) else targets_of(node)
