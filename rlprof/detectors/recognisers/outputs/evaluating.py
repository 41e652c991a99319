"""Loops that step an environment and learn nothing from it: evaluations, read in the source."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.outputs.remembered import (
    KEEPS,
    OBSERVATION,
    REWARD,
    Handed,
    handed_on,
    records,
    step_part,
)
from rlprof.detectors.recognisers.outputs.scores import makes_a_number
from rlprof.syntax.live_statements import live_statements
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    FunctionNode,
    SourceModule,
    called_name,
    parse,
    variables_assigned,
    variables_read,
)
from rlprof.syntax.nodes import assigned, calls_in, lines_of, nodes_in, owner_of
from rlprof.syntax.steps import step_calls

_TELLS: Final = frozenset({"print", "info", "debug"})
"""Calls that show what they are given, and keep nothing."""

_TRAINS: Final = frozenset({"backward", "zero_grad"})

_MOST_ROUNDS: Final = 4
"""Assignments that a reward goes through before it is in what is acted on."""


class StepLoops(NamedTuple):
    """The innermost loops of a file that step environments, by lines that begin at 1."""

    methods: frozenset[str]
    """By which they are stepped: ``step``, or what plays its part."""
    evaluating: tuple[range, ...]
    """Functions all of whose loops keep nothing of it but numbers."""
    playing: tuple[range, ...]
    """Functions whose loops keep it in lists of their own, for who calls them."""
    evaluating_between: tuple[range, ...]
    """Such loops inside of another loop, with the reset before them."""
    acting: tuple[range, ...]
    """Statements of step loops that the action comes from."""
    recording: tuple[range, ...]
    """Functions that step an environment for whoever calls them, and keep what they did and got."""
    handing: tuple[Handed, ...]
    """What loops hand of a step's results, but for the observation, to methods whose answers they use."""


@lru_cache(maxsize=PARSED_FILES)
def step_loops(text: str) -> StepLoops:
    """Those of the file ``text``; none where it is not Python that this Python can read."""
    module = parse(text)
    steps = _steps(module) if module else {}
    if module is None or not steps:
        return StepLoops(frozenset(), (), (), (), (), (), ())
    evaluating = [
        function.lines for function in module.functions if _all_evaluate(function.node.body, steps)
    ]
    playing = [
        function.lines
        for function in module.functions
        if _all_evaluate(function.node.body, steps, _lists_of(function))
    ]
    return StepLoops(
        frozenset(steps.values()),
        tuple(evaluating),
        tuple(playing),
        tuple(_between(module.tree, steps, False, ())),
        tuple(lines for loop in _looping(module.tree, steps) for lines in _acting(loop, steps)[0]),
        tuple(function.lines for function in module.functions if records(module, function, steps)),
        tuple(
            handed
            for loop in _looping(module.tree, steps)
            for handed in handed_on(_own(loop), steps)
        ),
    )


def evaluates_as_called(
    module: SourceModule, function: Function, constants: Mapping[str, ast.Constant]
) -> bool:
    """Tell whether all loops of a function keep nothing but numbers where its parameters have these values: ``play(env, agent, learn=False)``."""
    body = live_statements(function.node.body, constants)
    return bool(constants) and _all_evaluate(body, _steps(module))


@lru_cache(maxsize=PARSED_FILES)
def _steps(module: SourceModule) -> Mapping[ast.AST, str]:
    """The statements that step an environment, by ``….step(…)`` or by how what they give is used, with the method's name."""
    starts = (0, *(function.first_line for function in module.functions))
    by_use = {
        line: call.method
        for start in starts
        for call in step_calls(module, start)
        if not call.is_of_a_list
        for line in call.lines
    }
    return {
        statement.node: by_use.get(statement.first_line, "step")
        for statement in module.statements
        if _is_step(statement.node) or statement.first_line in by_use
    }


def _is_step(node: ast.AST) -> bool:
    """Tell whether an environment is stepped there: an optimizer's step takes nothing and gives nothing."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "step"
        and len(node.value.args) == 1
    )


def _lists_of(function: Function) -> frozenset[str]:
    """Variables that a function gives empty lists, and of which it only returns what it appends, or numbers that are made of that."""
    nodes = list(ast.walk(function.node))
    made = {
        each.target.id
        for node in nodes
        for each in assigned(node)
        if isinstance(each.target, ast.Name) and ast.unparse(each.value) in ("[]", "list()")
    }
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
    summed = [node for node in nodes if isinstance(node, ast.Call) and makes_a_number(node)]
    allowed = {id(node) for node in nodes_in(*returned, *summed)}
    allowed |= {id(owner) for call in _appends(nodes, made) for owner in owner_of(call)}
    handed_on = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in allowed
    }
    return frozenset(made - handed_on)


def _all_evaluate(
    body: Sequence[ast.stmt], steps: Collection[ast.AST], lists: Collection[str] = ()
) -> bool:
    """Tell whether there are loops over steps, and all keep nothing but numbers, and what they append to ``lists``."""
    own = [loop for statement in body for loop in _looping(statement, steps)]
    calls = {called_name(call) for call in calls_in(*body)}
    before = [each for each in nodes_in(*body) if isinstance(each, ast.stmt)]
    return (
        bool(own)
        and not calls & _TRAINS
        and all(_evaluates(loop, before, steps, lists) for loop in own)
    )


def _looping(tree: ast.AST, steps: Collection[ast.AST]) -> Iterator[ast.For | ast.While]:
    """Yield the innermost loops in which one of ``steps`` is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While) and any(part in steps for part in _own(node)):
            yield node


def _own(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """Yield what is in a loop, and not in a loop or a function inside of it."""
    pending: list[ast.AST] = [*loop.body]
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.Lambda):
            yield node
            pending += ast.iter_child_nodes(node)


def _between(
    node: ast.AST, steps: Collection[ast.AST], is_between: bool, acting: Collection[str]
) -> Iterator[range]:
    """Yield the lines of the loops below ``node`` that keep nothing and set none of ``acting``, if ``is_between`` others."""
    for _, value in ast.iter_fields(node):
        block = value if isinstance(value, list) else [value]
        for at, child in enumerate(block):
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, FunctionNode | ast.ClassDef | ast.Lambda):
                yield from _between(child, steps, False, ())
            elif not isinstance(child, ast.For | ast.While):
                yield from _between(child, steps, is_between, acting)
            elif not any(part in steps for part in _own(child)):
                if not variables_assigned(child) & set(acting):
                    yield from _between(child, steps, True, acting)
            elif is_between and _evaluates(child, block[:at], steps):
                if not variables_assigned(child) & set(acting):
                    yield lines_of(child)
                    yield from (
                        lines_of(statement) for statement in block[:at][-2:] if _resets(statement)
                    )
            else:
                yield from _in_turns(child, steps)


def _in_turns(loop: ast.For | ast.While, steps: Collection[ast.AST]) -> Iterator[range]:
    """Yield the lines of those that a loop over steps runs under a condition, and takes no action from."""
    _, acting = _acting(loop, steps)
    for each in loop.body:
        if isinstance(each, ast.Assign):
            acting -= variables_assigned(each)
    for each in loop.body:
        if isinstance(each, ast.If):
            yield from _between(each, steps, True, acting)


def _resets(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign | ast.Expr) and any(
        called_name(call) == "reset" for call in calls_in(node)
    )


def _evaluates(
    loop: ast.For | ast.While,
    before: Collection[ast.AST],
    steps: Collection[ast.AST],
    lists: Collection[str] = (),
) -> bool:
    """Tell whether a loop plays an episode that begins ``before`` it, and learns nothing: one that repeats an action does not begin."""
    seen: set[str] = set()
    for step in _own(loop):
        if step in steps and isinstance(step, ast.Assign):
            seen |= variables_assigned(step_part(step.targets[0], OBSERVATION))
    for each in _own(loop):
        if isinstance(each, ast.Assign) and variables_read(each.value) & seen:
            seen |= variables_assigned(*each.targets)
    is_begun = any(
        _resets(statement) or (any(calls_in(statement)) and variables_assigned(statement) & seen)
        for statement in before
        if isinstance(statement, ast.Assign | ast.Expr) and statement.lineno < loop.lineno
    )
    return is_begun and not _learns(loop, steps, lists)


def _learns(loop: ast.For | ast.While, steps: Collection[ast.AST], lists: Collection[str]) -> bool:
    """Tell whether a loop keeps more of its steps than sums, and than it appends to ``lists``: items of containers, attributes, by a call that
    keeps, or in what it acts on.
    """
    own = list(_own(loop))
    given = variables_assigned(*(step for step in own if step in steps))
    apart = [*_of_sums(own), *_appends(own, lists)]
    for node in own:
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Call) and called_name(node) in KEEPS and node not in apart:
            return True
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and node.value not in apart
        ):
            handed = variables_read(
                *node.value.args, *(keyword.value for keyword in node.value.keywords)
            )
            if handed & given and called_name(node.value) not in _TELLS:
                return True
    return _acts_on_rewards(own, steps) or _adds_up_observations(own, steps)


def _of_sums(own: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """Yield calls that append a sum of a whole episode to a list: ``returns.append(total)``."""
    sums = variables_assigned(*(node.target for node in own if isinstance(node, ast.AugAssign)))
    for node in own:
        match node:
            case ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name(id=name)]) if (
                name in sums
            ):
                yield node


def _appends(own: Sequence[ast.AST], lists: Collection[str]) -> Iterator[ast.Call]:
    """Yield calls that append something to one of ``lists``."""
    for node in own:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")) if (
                name in lists
            ):
                yield node


def _adds_up_observations(own: Sequence[ast.AST], steps: Collection[ast.AST]) -> bool:
    """Tell whether observations are worked into a sum, as those of a gradient are: ``trace += observation * noise``."""
    observed: set[str] = set()
    for step in own:
        if (
            step in steps
            and isinstance(step, ast.Assign)
            and isinstance(step.targets[0], ast.Tuple)
        ):
            observed |= variables_assigned(step_part(step.targets[0], OBSERVATION))
    return any(
        isinstance(node, ast.AugAssign)
        or bool(variables_assigned(node) & variables_read(node.value))
        for node in own
        if isinstance(node, ast.Assign | ast.AugAssign)
        and node not in steps
        and variables_read(node.value) & observed - variables_assigned(node)
    )


def _acts_on_rewards(own: Sequence[ast.AST], steps: Collection[ast.AST]) -> bool:
    """Tell whether a value that rewards are worked into, as weights are, is read elsewhere in the loop: a sum of them is not."""
    assigned = [
        assignment for assignment in own if isinstance(assignment, ast.Assign | ast.AugAssign)
    ]
    rewards = variables_assigned(
        *(
            step_part(assignment.targets[0], REWARD)
            for assignment in assigned
            if isinstance(assignment, ast.Assign) and assignment in steps
        )
    )
    for _ in range(_MOST_ROUNDS):
        for each in assigned:
            if each not in steps and variables_read(each.value) & rewards:
                rewards |= variables_assigned(each)
    for each in assigned:
        into = variables_assigned(each) & rewards
        if isinstance(each, ast.Assign):
            into &= variables_read(each.value)
        elsewhere = [other for other in assigned if other is not each]
        if each not in steps and any(into & variables_read(other.value) for other in elsewhere):
            return True
    return False


def _acting(loop: ast.For | ast.While, steps: Collection[ast.AST]) -> tuple[list[range], set[str]]:
    """The lines of the statements that the actions of ``loop`` come from, its steps included, and the variables there."""
    own = [
        assignment
        for assignment in _own(loop)
        if isinstance(assignment, ast.Assign | ast.AnnAssign | ast.AugAssign)
    ]
    taken: list[ast.stmt] = [step for step in own if step in steps]
    pending = [assignment for assignment in own if assignment not in steps]
    wanted = variables_read(*taken)
    is_found = True
    while is_found:
        found = [assignment for assignment in pending if variables_assigned(assignment) & wanted]
        pending = [assignment for assignment in pending if assignment not in found]
        wanted |= variables_read(*found)
        taken += found
        is_found = bool(found)
    # What is done at each step with what the action comes from: ``search.run(root)`` changes it.
    taken += [
        statement
        for statement in loop.body
        if isinstance(statement, ast.Expr | ast.For | ast.While)
        and variables_read(statement) & wanted
    ]
    return [lines_of(statement) for statement in taken], wanted
