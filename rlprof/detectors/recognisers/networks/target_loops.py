"""Find the loops that move a target network towards another, parameter by parameter: as they are written, and by what was seen in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.detectors.recognisers.networks.move_inputs import (
    draws,
    reads_items_of_others,
    reads_other_tensors,
    with_variables_of,
)
from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines
from rlprof.source.values import Values
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    called_name,
    parse,
    variables_assigned,
)
from rlprof.syntax.nodes import calls_in, given_by_name, lines_of, names_in, nodes_in, positional_of

_PARAMETERS: Final = frozenset({"parameters", "named_parameters"})
_IN_PLACE: Final = frozenset({"copy_", "mul_", "add_", "lerp_", "sub_"})
_PARAMETER: Final = "torch.nn.parameter.Parameter"
_STATE: Final = frozenset({"state_dict", "keys", "items"})


class MovedBy(Enum):
    """The way in which each parameter is moved."""

    SUM = "sum"
    """Tensors are made in between: ``tau * source``."""
    CALLS = "calls"
    """Some in place, without any: ``mul_`` and ``add_`` with ``alpha``."""
    ONE_CALL = "one call"
    """``lerp_``, ``copy_``."""


@dataclass(frozen=True, slots=True)
class TargetUpdate:
    line: int
    """Line of the loop."""
    moved_by: MovedBy
    calls: frozenset[str] = frozenset()
    """Functions called there that work for it alone."""
    is_of_states: bool = False
    """True if it goes through state dicts, which hold buffers as well."""


@lru_cache(maxsize=PARSED_FILES)
def target_updates(text: str) -> Mapping[int, TargetUpdate]:
    """The loops by their lines; empty when ``text`` cannot be read."""
    module = parse(text) if "parameters()" in text or "state_dict()" in text else None
    if module is None:
        return {}
    state_names = frozenset(_holding_states(ast.walk(module.tree)))
    mixing = frozenset(function.node.name for function in module.functions if _only_mixes(function))
    found: dict[int, TargetUpdate] = {}
    for loop in ast.walk(module.tree):
        if not isinstance(loop, ast.For):
            continue
        names = names_in(loop.target)
        made = variables_assigned(*loop.body)
        moves = [inner for inner in loop.body if _moves(inner, loop, names, state_names)]
        others = [
            other for other in loop.body if other not in moves and not _makes_a_variable(other)
        ]
        is_of_two = _zips_parameters(loop.iter) or _reads_another(loop, names, state_names)
        changed = {ast.unparse(item) for item in _items_stored(loop.body)}
        needs_more = draws(module, loop.body) or reads_items_of_others(
            loop.body, names, state_names | changed
        )
        if moves and not others and is_of_two and not needs_more:
            moved_by = _moved_by(loop.body, names | made, mixing)
            update = TargetUpdate(
                loop.lineno,
                moved_by,
                _called_in(*loop.body) & mixing,
                is_of_states=not _zips_parameters(loop.iter),
            )
            found |= dict.fromkeys(lines_of(loop), update)
            for number in _around(module, loop, state_names):
                found.setdefault(number, update)
    for statement in module.statements:
        mixed = [node for node in statement.walk() if _mixes_states(node, state_names)]
        if mixed and not draws(module, mixed):
            update = TargetUpdate(statement.first_line, MovedBy.SUM, is_of_states=True)
            # With the lines that take the state dicts: they are for this alone.
            taken = module.of_function(statement.function)
            for line in (
                statement,
                *(taking for taking in taken if any(_holding_states([taking.node]))),
            ):
                found |= dict.fromkeys(line.lines, update)
    return found


def _only_mixes(function: Function) -> bool:
    """Tell whether a function gives back a sum or a product of what it is given, and does nothing else: ``return (1 - tau) * a + tau * b``."""
    body = [
        inner
        for inner in function.node.body
        if not (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant))
    ]
    match body:
        case [ast.Return(value=ast.BinOp() as mixed)]:
            return (
                not [*calls_in(mixed)]
                and len(names_in(mixed) & set(positional_of(function.node))) > 1
            )
    return False


def _called_in(*parts: ast.AST) -> frozenset[str]:
    return frozenset(called_name(call) for call in calls_in(*parts))


def _around(module: SourceModule, loop: ast.For, state_names: frozenset[str]) -> Iterator[int]:
    """Yield the lines of a function that are for the loop alone: they take the dictionaries that it goes through, or load the one that it changes."""
    used = names_in(loop) & state_names
    statement = module.statement_at(loop.lineno)
    own: list[range] = []
    for other in module.of_function(statement.function if statement else None):
        if other.first_line in lines_of(loop):
            continue
        loads = any(
            called_name(call) == "load_state_dict" and names_in(*call.args) & used
            for call in other.calls()
        )
        if loads or used.intersection(_holding_states([other.node])):
            own.append(other.lines)
        elif used & names_in(*other.expressions()):
            return  # They are for something else, too.
    for lines in own:
        yield from lines


def _mixes_states(node: ast.AST, state_names: frozenset[str]) -> bool:
    """Tell whether it makes a state dict of two: ``{k: (1 - tau) * a[k] + tau * b[k] for k in a}``."""
    if not isinstance(node, ast.DictComp) or not isinstance(node.value, ast.BinOp):
        return False
    names = names_in(node.generators[0].target)
    read = {
        ast.unparse(item.value)
        for item in ast.walk(node.value)
        if isinstance(item, ast.Subscript) and _is_item(item, names)
    }
    if isinstance(node.generators[0].target, ast.Tuple):
        read |= names_in(node.generators[0].iter)
    if reads_items_of_others([node.value], names, state_names):
        return False
    return len({text for text in read if text in state_names or "state_dict()" in text}) > 1


def _items_stored(body: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes_in(*body):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield node


def seen_update(lines: UserLines, values: Values, frame: Frame) -> TargetUpdate | None:
    """Return what a line of a loop does in which two parameters were seen in each turn: one is changed by the other."""
    module = lines.module(frame.file) if values.has(frame.file) else None
    statement = module.statement_at(frame.line) if module else None
    if module is None or statement is None:
        return None
    own = statement.node
    loop = own if isinstance(own, ast.For) else module.innermost_loop(frame.line)
    if not isinstance(loop, ast.For):
        return None
    known = values.between(frame.file, lines_of(loop))
    names = {name for name, value in known.items() if value.type == _PARAMETER}
    moves = [inner for inner in loop.body if _is_seen_move(inner, names)]
    if not any(_is_given_another(move, names) for move in moves):
        return None
    parts = with_variables_of(moves, loop.body)
    elements = names_in(loop.target)
    if draws(module, parts) or reads_other_tensors(parts, elements, known):
        return None
    if reads_items_of_others(parts, elements, names):
        return None
    update = TargetUpdate(loop.lineno, _moved_by(moves, names))
    if own in moves:
        return update
    # What it goes through may do some work itself, as a zip that compares lengths.
    is_all = all(inner in moves or _makes_a_variable(inner) for inner in loop.body)
    return replace(update, calls=_called_in(loop.iter)) if own is loop and is_all else None


def _is_seen_move(statement: ast.stmt, names: set[str]) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and not _reads_gradients(statement)
        and _changes_parameter(statement.value, names)
    )


def _is_given_another(move: ast.stmt, names: set[str]) -> bool:
    """Tell whether a parameter is changed by another one."""
    changed = [
        _parameter(_changed_by(part))
        for part in ast.iter_child_nodes(move)
        if isinstance(part, ast.expr)
    ]
    return bool((names & _texts_in(move)) - {*changed})


def _texts_in(*parts: ast.AST) -> set[str]:
    """All expressions in the parts, as written."""
    return {ast.unparse(node) for node in nodes_in(*parts) if isinstance(node, ast.expr)}


def _parameter(changed: ast.expr) -> str:
    """The parameter that is changed with ``changed``, itself or its ``data``."""
    if isinstance(changed, ast.Attribute) and changed.attr == "data":
        changed = changed.value
    return ast.unparse(changed)


def _reads_gradients(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "grad" for node in ast.walk(statement)
    )


def _moves(
    statement: ast.stmt, loop: ast.For, names: set[str], state_names: frozenset[str]
) -> bool:
    """Tell whether a statement of the loop changes a parameter of a network."""
    if _zips_parameters(loop.iter):
        # What a gradient moves is a network that learns.
        if _reads_gradients(statement):
            return False
        changes = _is_data_of
    elif _goes_through_state(loop.iter, state_names):
        changes = _is_item
    else:
        return False
    if isinstance(statement, ast.Assign):
        return all(changes(target, names) for target in statement.targets)
    return isinstance(statement, ast.Expr) and _changes_parameter(statement.value, names)


def _makes_a_variable(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and all(
        isinstance(target, ast.Name) for target in statement.targets
    )


def _reads_another(loop: ast.For, names: set[str], state_names: frozenset[str]) -> bool:
    """Tell whether it takes what another network has of each name: ``source[key]`` of a state dict that it does not change."""
    given: list[ast.expr] = []
    changed: list[ast.expr] = []
    for statement in loop.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                given.append(value)
                changed += targets
            case ast.Expr(value=value):
                given += _given_in_place(value)
                changed.append(_changed_by(value))
    own = {ast.unparse(item.value) for item in changed if isinstance(item, ast.Subscript)}
    read = {
        ast.unparse(item.value)
        for item in nodes_in(*given)
        if isinstance(item, ast.Subscript) and _is_item(item, names)
    }
    if isinstance(
        loop.target, ast.Tuple
    ):  # Its values are those of the state dict that it goes through.
        own |= names_in(loop.iter)
    return any(text in state_names or "state_dict()" in text for text in read - own)


def _given_in_place(call: ast.expr) -> Iterator[ast.expr]:
    """Yield the arguments of calls, one on what the other gives."""
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        yield from call.args
        call = call.func.value


def _changes_parameter(expression: ast.expr, names: set[str]) -> bool:
    """Tell whether it is in-place calls, one on what the other gives, on a parameter, its ``data`` or an item of its name."""
    changed = _changed_by(expression)
    is_one = ast.unparse(changed) in names
    is_one = is_one or _is_item(changed, names) or _is_data_of(changed, names)
    return changed is not expression and is_one


def _changed_by(expression: ast.expr) -> ast.expr:
    """Return what in-place calls, one on what the other gives, are made on, or a call puts its answer into."""
    if isinstance(expression, ast.Call) and (out := given_by_name(expression, "out")):
        return out[0]
    while (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and expression.func.attr in _IN_PLACE
    ):
        expression = expression.func.value
    return expression


def _moved_by(
    moves: Iterable[ast.stmt], names: set[str], mixing: frozenset[str] = frozenset()
) -> MovedBy:
    nodes = list(nodes_in(*moves))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    sums = [node for node in nodes if isinstance(node, ast.BinOp)]
    if not names.isdisjoint(_texts_in(*sums)) or any(called_name(call) in mixing for call in calls):
        return MovedBy.SUM
    in_place = [
        call for call in calls if called_name(call) in _IN_PLACE or given_by_name(call, "out")
    ]
    return MovedBy.ONE_CALL if len(in_place) == 1 else MovedBy.CALLS


def _zips_parameters(iterated: ast.expr) -> bool:
    if isinstance(iterated, ast.Call) and called_name(iterated) == "enumerate" and iterated.args:
        iterated = iterated.args[0]
    if not isinstance(iterated, ast.Call) or called_name(iterated) != "zip":
        return False
    given = iterated.args
    return len(given) == 2 and all(
        isinstance(argument, ast.Call) and called_name(argument) in _PARAMETERS
        for argument in given
    )


def _goes_through_state(iterated: ast.expr, state_names: frozenset[str]) -> bool:
    while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute):
        if iterated.func.attr == "state_dict":
            return True
        if iterated.func.attr not in _STATE:
            return False
        iterated = iterated.func.value
    return isinstance(iterated, ast.Name) and iterated.id in state_names


def _holding_states(nodes: Iterable[ast.AST]) -> Iterable[str]:
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="state_dict"))
            ):
                yield name
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Name(id="dict"),
                    args=[ast.Call(func=ast.Attribute(attr="named_parameters" | "state_dict"))],
                ),
            ):
                yield name


def _is_item(target: ast.AST, names: set[str]) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Name)
        and target.slice.id in names
    )


def _is_data_of(target: ast.AST, names: set[str]) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == "data"
        and isinstance(target.value, ast.Name)
        and target.value.id in names
    )
