"""Statements that step an environment, told by how its object, its observation and the action depend on each other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.module import Function, SourceModule, Statement
from rlprof.syntax.nodes import (
    calls_in,
    given_to,
    single_targets,
    targets_of,
    unpacked,
    without_index,
)
from rlprof.syntax.operands import steps_to
from rlprof.syntax.steps_in_lists import StepCall, listed_steps

_MOST_ROUNDS: Final = 8
"""Assignments that one value goes through before it is an action."""
_MOST_CALLS: Final = 20
_MOST_STATEMENTS: Final = 1_000
"""Most statements of a function, or a class, in which steps are looked for: a program has written longer ones, and reading them takes seconds."""


def step_calls(module: SourceModule, line: int) -> tuple[StepCall, ...]:
    """The calls that may step an environment, in the function that ``line`` lies in.

    ``obs, reward, over = world.step(action)`` is one if another method of ``world``, or an attribute, gives an observation too, and if
    the action is computed from the observation or from ``world``; ``[world.step(action) for world, action in zip(worlds, actions)]``
    is one for each of ``worlds`` if another method of theirs is called, and the actions are computed from what it gave.
    """
    function = module.function_at(line)
    return _calls_of(module, function.first_line if function else 0)


@lru_cache(maxsize=1024)
def _calls_of(module: SourceModule, first_line: int) -> tuple[StepCall, ...]:
    function = module.function_at(first_line)
    own = module.of_function(function)
    if len(own) > _MOST_STATEMENTS:
        return ()
    of_function = _read(own, _imported(module))
    listed = tuple(
        call
        for statement, call in listed_steps(own)
        if _follows_from_itself(statement, of_function)
    )[:_MOST_CALLS]
    unpacked = {
        own_statement: found for own_statement in own if (found := _unpacked_call(own_statement))
    }
    if not 0 < len(unpacked) <= _MOST_CALLS:
        return listed
    of_class = _of_class(module, function) or of_function
    calls = []
    for statement, (targets, call, method) in unpacked.items():
        for target in targets:
            is_of_object = any("self." in name for name in (target, ast.unparse(method.value)))
            around = of_class if is_of_object else of_function
            step = _step_call(statement, target, call, method, around)
            if step is not None:
                calls.append(step)
                break
    return (*calls, *listed)


class FunctionStep(NamedTuple):
    """A call of a function that may make a step: it is given the last observation, and an action that is computed from it."""

    text: str
    """As Python would write it: ``step(state, action)``."""
    line: int
    reward: str
    """The variables that its result is unpacked into, besides the observation."""
    over: str


@lru_cache(maxsize=1024)
def functions_that_step(module: SourceModule, first_line: int) -> tuple[FunctionStep, ...]:
    """Return such calls in the function that begins at ``first_line``; 0 for the module itself."""
    own = module.of_function(module.function_at(first_line))
    around = _read(own, _imported(module)) if len(own) <= _MOST_STATEMENTS else []
    found = []
    for statement in own if around else ():
        match _unpacked(statement):
            case (first, reward, over, *_), ast.Call(func=ast.Name()) as call:
                seen = _copies(first, around)
                is_given_it = any(ast.unparse(argument) in seen for argument in given_to(call))
                if is_given_it and _is_acted_on(call, around, seen, first):
                    line = statement.first_line
                    found.append(FunctionStep(ast.unparse(call), line, reward, over))
    return tuple(found)


def _of_class(module: SourceModule, function: Function | None) -> list[_Assignment]:
    """The assignments of a method's whole class; none of what is no method, or of a class of many."""
    if function is None or not function.class_name:
        return []
    own = module.of_class(function.class_name)
    return _read(own, _imported(module)) if len(own) <= _MOST_STATEMENTS else []


def _step_call(
    statement: Statement,
    target: str,
    call: ast.Call,
    function: ast.Attribute,
    around: Sequence[_Assignment],
) -> StepCall | None:
    """``around``: what its values come from and go to."""
    owner, steps = ast.unparse(function.value), steps_to(function.value)
    seen = _copies(target, around)
    is_begun = _is_begun(around, seen, owner, function.attr) or _is_made_alike(
        around, seen, owner, function.attr
    )
    if not steps or not is_begun or not _is_acted_on(call, around, seen, owner):
        return None
    return StepCall(ast.unparse(call), function.attr, steps, statement.lines)


def _follows_from_itself(statement: Statement, around: Sequence[_Assignment]) -> bool:
    """Tell whether what the statement works on is computed from what it gave before: a solver of many tasks is given others each time."""
    given = {ast.unparse(target) for target in single_targets(*targets_of(statement.node))}
    derived = _closure(
        given, around, lambda each, known: not known.isdisjoint(each.mentions), whole=True
    )
    return isinstance(statement.node, ast.Assign) and not derived.isdisjoint(
        _mentions(statement.node.value)
    )


def _unpacked_call(statement: Statement) -> tuple[list[str], ast.Call, ast.Attribute] | None:
    """The targets that may be the observation, and the call of a method whose result is unpacked into them: the first, or one behind
    the third where environments begin anew by themselves and hand out what they begin with.
    """
    match _unpacked(statement):
        case (first, _, _, *others), ast.Call(func=ast.Attribute() as function) as call:
            if isinstance(function.value, ast.Name) and function.value.id == "self":
                return None  # A part of the object's own work.
            attributes = [node for node in ast.walk(call) if isinstance(node, ast.Attribute)]
            is_alone = sum(node.attr == function.attr for node in attributes) == 1
            return ([first, *others], call, function) if is_alone else None
    return None


def _unpacked(statement: Statement) -> tuple[list[str], ast.Call] | None:
    """Three targets or more, and the call whose result is unpacked into them; without one that takes what is left."""
    match statement.node:
        case ast.Assign(
            targets=[ast.Tuple(elts=[first, second, third, *others])], value=ast.Call() as call
        ) if not any(isinstance(each, ast.Starred) for each in (first, second, third)):
            plain = [each for each in others if not isinstance(each, ast.Starred)]
            return [ast.unparse(each) for each in (first, second, third, *plain)], call
    return None


def _copies(first: str, around: Iterable[_Assignment]) -> set[str]:
    """``first`` and what it is assigned to as it is, or converted: ``obs = torch.tensor(after)``."""
    return _closure({first}, around, lambda each, known: each.converted in known, whole=False)


def _closure(
    known: set[str],
    around: Iterable[_Assignment],
    follows: Callable[[_Assignment, set[str]], bool],
    *,
    whole: bool,
) -> set[str]:
    known = set(known)
    for _ in range(_MOST_ROUNDS):
        before = len(known)
        for each in around:
            if follows(each, known):
                known.add(each.whole if whole else each.target)
        if len(known) == before:
            break
    return known


def _is_begun(around: Iterable[_Assignment], seen: set[str], owner: str, method: str) -> bool:
    """Tell whether another method of ``owner``, or an attribute, gives the observation, too."""
    return any(
        name.startswith(f"{owner}.") and name != f"{owner}.{method}"
        for each in around
        if each.target in seen
        for name in each.mentions
    )


def _is_made_alike(around: Iterable[_Assignment], seen: set[str], owner: str, method: str) -> bool:
    """Tell whether a function of the program's, or a method, makes something of the observation, and of what another method of ``owner``
    gives, too: ``x = flat(after)`` and ``x = flat(env.reset()[0])``.
    """
    begun = [
        each for each in around if any(of == owner and name != method for of, name in each.calls)
    ]
    given = {each.target for each in begun}
    of_observation = {each.made_by for each in around if each.made_of in seen}
    of_begin = {each.made_by for each in around if each in begun or each.made_of in given}
    return not of_observation.isdisjoint(of_begin - {""})


def _is_acted_on(call: ast.Call, around: Iterable[_Assignment], seen: set[str], owner: str) -> bool:
    """Tell whether an argument is computed from the observation or from ``owner``, and is not the observation itself."""
    derived = _closure(
        seen | {owner}, around, lambda each, known: not known.isdisjoint(each.mentions), whole=True
    )
    arguments = given_to(call)
    return any(
        ast.unparse(argument) not in seen and not derived.isdisjoint(_mentions(argument))
        for argument in arguments
    )


class _Assignment(NamedTuple):
    target: str
    whole: str
    """Container that is changed when an item of it is assigned to."""
    mentions: frozenset[str]
    """Names, attributes and items in the value."""
    calls: tuple[tuple[str, str], ...]
    """Owner and name of the methods that the value calls."""
    converted: str
    """Name of what the value is made of, by functions of imported modules alone: those of the program's own may be its policy."""
    made_by: str
    """Name of the function that makes the value of one argument, and ``made_of`` that; both empty for any other."""
    made_of: str


def _read(statements: Iterable[Statement], imported: Collection[str]) -> list[_Assignment]:
    return [
        _Assignment(
            target=ast.unparse(target),
            whole=ast.unparse(without_index(target)),
            mentions=_mentions(value),
            calls=tuple(
                (ast.unparse(node.func.value), node.func.attr)
                for node in calls_in(value)
                if isinstance(node.func, ast.Attribute)
            ),
            converted=_converted(value, imported),
            **_made(value),
        )
        for target, value in _assignments(statements)
    ]


def _converted(value: ast.expr, imported: Collection[str]) -> str:
    while isinstance(value, ast.Call) and value.args:
        function = value.func
        while isinstance(function, ast.Attribute):
            function = function.value
        if not isinstance(function, ast.Name) or function.id not in imported:
            return ""
        value = value.args[0]
    return ast.unparse(value)


def _made(value: ast.expr) -> dict[str, str]:
    match value:
        case ast.Call(func=ast.Name() | ast.Attribute() as by, args=[argument], keywords=[]):
            return {"made_by": ast.unparse(by), "made_of": ast.unparse(argument)}
    return {"made_by": "", "made_of": ""}


def _imported(module: SourceModule) -> set[str]:
    return {
        (alias.asname or alias.name).partition(".")[0]
        for statement in module.statements
        if isinstance(statement.node, ast.Import)
        for alias in statement.node.names
    }


def _mentions(value: ast.expr) -> frozenset[str]:
    return frozenset(
        ast.unparse(node)
        for node in ast.walk(value)
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript)
    )


def _assignments(around: Iterable[Statement]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield (target, value): of several targets each with its own value, or all with the one that is unpacked."""
    for statement in around:
        for targets, value in _given(statement.node):
            for chosen in _choices(value):
                for each in unpacked(targets, chosen):
                    yield from ((each.target, of_one) for of_one in _choices(each.value))


def _given(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            yield from ((target, value) for target in targets_of(node))
        case ast.AugAssign(target=target, value=value) | ast.For(target=target, iter=value):
            yield target, value
        case ast.With(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield item.optional_vars, item.context_expr


def _choices(value: ast.expr) -> Iterator[ast.expr]:
    """Yield ``a`` and ``b`` of ``a if first else b``."""
    if isinstance(value, ast.IfExp):
        yield from _choices(value.body)
        yield from _choices(value.orelse)
    else:
        yield value
