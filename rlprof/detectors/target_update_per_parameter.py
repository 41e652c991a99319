"""Target networks that are moved parameter by parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.detectors.base import Detector, InSamples, InTrace, Need
from rlprof.detectors.recognisers.line_time import lines_time
from rlprof.device.intervals import CoveredTime, union
from rlprof.device.places import places_of_repeats
from rlprof.device.repeats import averages_by_parameter
from rlprof.device.view import TraceView
from rlprof.model.calibration import calibrated
from rlprof.model.device import DeviceFinding, IdleCause
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import Frame
from rlprof.source.lines import Line, UserLines, heaviest_line, short_place
from rlprof.source.values import Values
from rlprof.syntax.module import PARSED_FILES, called_name, parse, variables_assigned
from rlprof.syntax.nodes import names_in, nodes_in
from rlprof.tracefile.regions import OPTIMIZER_STEP
from rlprof.units import count, duration, of_each_step, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""

REMOVABLE: Final = calibrated(
    Range(0.6, 0.96),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: copy_ of a sum for the 6 "
    "parameters of two layers of 64 73 µs, mul_ and add_ of a product 61, and 4 instead; of "
    "256 104, 78 and 10. Of 2.5 million numbers 0.10 and 0.24 is left, of 9 million 0.04 to "
    "0.16 and 0.32 to 0.38",
    date="2026-11-21",
)
"""Part that ``torch._foreach_lerp_`` saves where tensors are made for each parameter. Lists that are made
anew each time leave some more."""

CALLS_REMOVABLE: Final = calibrated(
    Range(0.25, 0.91),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of two layers of 64 0.09 is "
    "left, of 256 0.18, of 2.5 million numbers 0.61, of 9 million 0.66 to 0.70",
    date="2026-11-21",
)
"""The same where none is made, ``mul_`` and ``add_`` with ``alpha``. How large the networks are the samples
do not tell."""

ONE_CALL_REMOVABLE: Final = calibrated(
    Range(0.0, 0.88),
    unit="part of the loop's time",
    source="benchmarks/replacements.py, torch 2.13 on one thread: of two layers of 64 0.15 and "
    "0.12 is left, of 256 0.29, of 2.5 million numbers 0.75 to 0.87, of 9 million 0.96",
    date="2026-11-21",
)
"""The same of one call, ``lerp_`` or ``copy_``."""

FEWEST_PARAMETERS: Final = 10
"""Fewest parameters of an update: two networks of three layers have twelve."""

MIN_TRACE_SHARE: Final = 0.01
"""Least share of the wall time, spent in such updates."""


def detect_in_samples(profile: Profile) -> Iterable[Finding]:
    tree, whole = profile.steady, profile.critical.wall_us
    lines = UserLines.of(profile)
    values = Values(profile.values)
    updates = {file: dict(target_updates(text)) for file, text in profile.sources.items()}
    for frame in {tree.frame(node) for node in tree.hot_nodes()}:
        if (update := _seen_update(lines, values, frame)) is not None:
            updates.setdefault(frame.file, {}).setdefault(frame.line, update)
    times = {kind: lines_time(profile, lines, _places(updates, kind)) for kind in MovedBy}
    weights = {line: us for time in times.values() for line, us in time.weights.items()}
    total = sum(weights.values())
    if not whole or total < MIN_SHARE * whole:
        return
    heaviest = heaviest_line(weights)
    update = updates[heaviest.file][heaviest.line]
    loop = Line(heaviest.file, update.line, "")
    each = of_each_step(total, profile.steady_steps)
    yield Finding(
        title=f"a target network is moved parameter by parameter ({short_place(loop)})",
        savings=tuple(
            Saving(time.nodes, _REMOVABLE[moved_by])
            for moved_by, time in times.items()
            if time.nodes
        ),
        locations=lines.shown_locations(weights, whole),
        evidence=(
            f"{percent(total / whole)} of the steady time is spent in that loop{each}",
            "the source shows a Python loop over the parameters of two networks",
        ),
        fix="Make the lists once, targets = list(target.parameters()), and move all by one call under "
        "torch.no_grad(): torch._foreach_lerp_(targets, sources, tau).",
        confidence=Confidence.MEASURED if update.moved_by is MovedBy.SUM else Confidence.BOUNDED,
    )


def _places(
    updates: Mapping[str, Mapping[int, TargetUpdate]], moved_by: MovedBy
) -> dict[str, frozenset[int]]:
    """The lines of one kind of loop, by file."""
    return {
        file: frozenset(line for line, update in found.items() if update.moved_by is moved_by)
        for file, found in updates.items()
    }


def detect_in_trace(view: TraceView) -> Iterable[DeviceFinding]:
    stepping = CoveredTime(
        union(
            (row.ts, row.end)
            for row in view.trace.annotations
            if row.name.startswith(OPTIMIZER_STEP)
        )
    )
    # An optimizer in a Python loop mixes tensors, too (optimizer-not-fused).
    updates = [
        update
        for update in averages_by_parameter(view.outermost_ops, FEWEST_PARAMETERS)
        if not stepping.inside(*update.span)
    ]
    held = sum(update.span.length for update in updates)
    if not updates or held < MIN_TRACE_SHARE * view.wall.length:
        return
    parameters = sum(update.turns for update in updates)
    idle = view.idle_in(update.span for update in updates) * (1 - len(updates) / parameters)
    yield DeviceFinding(
        title="parameters are averaged one by one",
        saved_us=Range(0.0, idle),
        evidence=(
            f"{count(len(updates))} updates of {count(round(parameters / len(updates)))} parameters each hold the "
            f"host for {duration(held)}, {percent(held / view.wall.length)} of the trace; the GPU has nothing to do "
            f"for {duration(idle)} of it",
        ),
        fix="torch._foreach_lerp_(list(target.parameters()), list(network.parameters()), tau) under "
        "torch.no_grad(): a few launches for all.",
        confidence=Confidence.SUSPECTED,
        causes=(IdleCause.LAUNCH_BOUND, IdleCause.OTHER),
        places=places_of_repeats(view, updates),
    )


# --- the loops of a source file that move a target network ----------------------------------


_PARAMETERS: Final = frozenset({"parameters", "named_parameters"})
_IN_PLACE: Final = frozenset({"copy_", "mul_", "add_", "lerp_", "sub_"})
_PARAMETER: Final = "torch.nn.parameter.Parameter"
_STATE: Final = frozenset({"state_dict", "keys", "items"})


class MovedBy(Enum):
    """How each parameter is moved."""

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


_REMOVABLE: Final = {
    MovedBy.SUM: REMOVABLE,
    MovedBy.CALLS: CALLS_REMOVABLE,
    MovedBy.ONE_CALL: ONE_CALL_REMOVABLE,
}


@lru_cache(maxsize=PARSED_FILES)
def target_updates(text: str) -> Mapping[int, TargetUpdate]:
    """The loops by their lines; empty when ``text`` cannot be read."""
    module = parse(text) if "parameters()" in text or "state_dict()" in text else None
    if module is None:
        return {}
    state_names = frozenset(_holding_states(ast.walk(module.tree)))
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
        if moves and not others and is_of_two:
            last = loop.end_lineno or loop.lineno
            update = TargetUpdate(loop.lineno, _moved_by(loop.body, names | made))
            found |= dict.fromkeys(range(loop.lineno, last + 1), update)
    for statement in module.statements:
        if any(_mixes_states(node, state_names) for node in statement.walk()):
            update = TargetUpdate(statement.first_line, MovedBy.SUM)
            # With the lines that take the state dicts: they are for this alone.
            taken = module.of_function(statement.function)
            for line in (
                statement,
                *(taking for taking in taken if any(_holding_states([taking.node]))),
            ):
                found |= dict.fromkeys(line.lines, update)
    return found


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
        read |= {
            ast.unparse(name)
            for name in ast.walk(node.generators[0].iter)
            if isinstance(name, ast.Name)
        }
    return len({text for text in read if text in state_names or "state_dict()" in text}) > 1


def _seen_update(lines: UserLines, values: Values, frame: Frame) -> TargetUpdate | None:
    """Return what a line of a loop does where two parameters were seen there: one is changed in place by the other."""
    module = lines.module(frame.file) if values.has(frame.file) else None
    statement = module.statement_at(frame.line) if module else None
    loop = next(iter(module.loops_around(frame.line)), None) if module else None
    if statement is None or loop is None or not isinstance(statement.node, ast.Expr):
        return None
    known = values.of(frame.file, statement)
    names = {name for name, value in known.items() if value.type == _PARAMETER}
    if len(names) < 2 or not _changes_parameter(statement.node.value, names):
        return None
    return TargetUpdate(loop.lineno, _moved_by([statement.node], names))


def _moves(
    statement: ast.stmt, loop: ast.For, names: set[str], state_names: frozenset[str]
) -> bool:
    """Tell whether a statement of the loop changes a parameter of a network."""
    if _zips_parameters(loop.iter):
        # What a gradient moves is a network that learns.
        if any(
            isinstance(node, ast.Attribute) and node.attr == "grad" for node in ast.walk(statement)
        ):
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
        own |= {ast.unparse(name) for name in ast.walk(loop.iter) if isinstance(name, ast.Name)}
    return any(text in state_names or "state_dict()" in text for text in read - own)


def _given_in_place(call: ast.expr) -> Iterator[ast.expr]:
    """Yield the arguments of calls, one on what the other gives."""
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        yield from call.args
        call = call.func.value


def _changes_parameter(expression: ast.expr, names: set[str]) -> bool:
    """Tell whether it is in-place calls, one on what the other gives, on a parameter, its ``data`` or an item of its name."""
    changed = _changed_by(expression)
    is_one = isinstance(changed, ast.Name) and changed.id in names
    is_one = is_one or _is_item(changed, names) or _is_data_of(changed, names)
    return changed is not expression and is_one


def _changed_by(expression: ast.expr) -> ast.expr:
    """Return what in-place calls, one on what the other gives, are made on."""
    while (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and expression.func.attr in _IN_PLACE
    ):
        expression = expression.func.value
    return expression


def _moved_by(moves: Iterable[ast.stmt], names: set[str]) -> MovedBy:
    nodes = list(nodes_in(*moves))
    if any(
        isinstance(node, ast.BinOp) and (not names.isdisjoint(names_in(node))) for node in nodes
    ):
        return MovedBy.SUM
    in_place = [
        node for node in nodes if isinstance(node, ast.Call) and called_name(node) in _IN_PLACE
    ]
    return MovedBy.ONE_CALL if len(in_place) == 1 else MovedBy.CALLS


def _zips_parameters(iterated: ast.expr) -> bool:
    if not isinstance(iterated, ast.Call) or called_name(iterated) != "zip":
        return False
    given = [argument for argument in iterated.args if isinstance(argument, ast.Call)]
    return len(given) == 2 and all(called_name(argument) in _PARAMETERS for argument in given)


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


DETECTOR: Final = Detector(
    id="target-update-per-parameter",
    name="target networks that are moved parameter by parameter",
    in_samples=InSamples(detect_in_samples, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
    in_trace=InTrace(detect_in_trace),
)
