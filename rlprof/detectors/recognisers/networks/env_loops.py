"""Loops of a source file that take environments, or their observations, one by one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from rlprof.source.loop_turns import carried
from rlprof.source.parameters import Parameters
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.imports import NUMPY, TORCH, own_name, root_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Comprehension,
    SourceModule,
    Statement,
    called_name,
    parse,
    receiver,
    variables_read,
)
from rlprof.syntax.nodes import (
    assigned,
    calls_in,
    lines_of,
    made_each_turn,
    mapped,
    names_in,
    nodes_in,
)

_ENVS: Final = re.compile(r"^(\w+_)?(envs|environments|games|worlds|simulators)$", re.I)
_PER_ENV: Final = re.compile(
    r"^_?((cur(rent)?|next|last|batch|all|new|raw)_?)*(obs|obses|observations?|states)(_?(list|batch))?$"
    r"|^env_(ids|indices|idxs?)$",
    re.I,
)
_COUNT: Final = re.compile(
    r"^(\w+_)?(num|n|nb|number_of|count_of)_?(parallel_)?(envs?|environments)$", re.I
)
COUNT_NAMES: Final = ("num_envs", "n_envs", "num_environments", "nb_envs", "num_env", "n_env")

TENSOR_MODULES: Final = TORCH | {"nn", "F", "jax", "jnp", "tf", "tensorflow", "distributions"}
_POLICY: Final = re.compile(
    r"^_?(\w*_)?(policy|actor|critic|model|net|network|agent|encoder|value_fn|qnet)$"
)
_ASKS: Final = re.compile(
    r"^_?(act|predict|forward|infer\w*|(select|get|choose|sample|pick|best|greedy)_?actions?)$"
)
_TENSOR_METHODS: Final = frozenset(
    {"detach", "unsqueeze", "squeeze", "log_prob", "no_grad", "inference_mode", "cpu", "item"}
)

_MAKES_TENSORS: Final = frozenset(
    {
        "tensor",
        "as_tensor",
        "from_numpy",
        "stack",
        "cat",
        "concat",
        "zeros",
        "ones",
        "empty",
        "full",
    }
)
"""Functions that take data to a policy, or gather what it said."""

_ANY_LOOP: Final = re.compile(
    r"\b(in|map)\b[^\n]*?(env|games|worlds|simulators|obs|states)", re.IGNORECASE
)
"""Text that every file with such a loop contains: most files need not be walked."""


_THROUGH: Final = frozenset(
    {"enumerate", "zip", "range", "len", "list", "tqdm", "iter", "reversed"}
)

STEPS: Final = frozenset({"step", "_step", "reset", "_reset"})
"""Methods by which environments are stepped, and begin anew."""


@dataclass(frozen=True, slots=True)
class EnvLoop:
    """A loop or comprehension that runs once for each environment."""

    first_line: int
    """First line of its body."""
    last_line: int
    iterable: ast.expr
    targets: frozenset[str]
    """Variables that change with the environment."""
    trains: bool
    """True if its body does backward passes: then each turn depends on the one before."""
    calls: frozenset[tuple[int, int]]
    """(line, column) of the calls that are made once for each environment, not around the loop."""
    length: int | None = None
    """Length of what it goes through, where that was seen: then nothing but that says that it is such a loop."""


@lru_cache(maxsize=PARSED_FILES)
def find_env_loops(text: str) -> tuple[EnvLoop, ...]:
    """All such loops of a source file, the outer before the inner; none when it is unreadable."""
    module = parse(text) if _ANY_LOOP.search(text) else None
    if module is None:
        return ()
    return tuple(loop for node in ast.walk(module.tree) for loop in _loops(mapped(node) or node))


def find_object_loops(module: SourceModule, file: str, values: Values) -> Iterator[EnvLoop]:
    """Yield the loops that go through a container of arrays or objects, as looks at it have told."""
    for part in ast.walk(module.tree):
        node = mapped(part) or part
        if isinstance(node, ast.For | Comprehension):
            lines = lines_of(node)
            known = values.between(file, lines)
            length = next(filter(None, map(_length, _gone_through(node, known))), None)
            if length is not None and not _asks_for_what_it_carries(node, module, known):
                yield replace(_loop(node), length=length)


def _asks_for_what_it_carries(
    node: ast.For | Comprehension, module: SourceModule, known: Mapping[str, Value]
) -> bool:
    """Tell whether a network is given what the turn before has left, as a rollout gives it the next observation."""
    left = _left_by_a_turn(node, module)
    return any(
        _asks_a_network(call, known) and not left.isdisjoint(variables_read(*call.args))
        for call in calls_in(node)
    )


def _left_by_a_turn(
    loop: ast.For | ast.AsyncFor | Comprehension, module: SourceModule
) -> frozenset[str]:
    """Return what a turn leaves for the next one."""
    body = range(loop.lineno + 1, (loop.end_lineno or loop.lineno) + 1)
    return carried([statement for statement in module.statements if statement.first_line in body])


def _asks_a_network(call: ast.Call, known: Mapping[str, Value]) -> bool:
    """Tell whether a network is called, or handed to what is called, or asked by a name that says so."""
    values = (value_of(part, known) for part in (call.func, *call.args))
    return any(value is not None and value.is_network for value in values) or asks_a_policy(call)


def _gone_through(node: ast.For | Comprehension, known: Mapping[str, Value]) -> Iterator[Value]:
    """Yield what is named in the loop's head, and what its body indexes with the loop's variable."""
    loop = _loop(node)
    named = [part for part in ast.walk(loop.iterable) if isinstance(part, ast.Name | ast.Attribute)]
    items = [item for item in ast.walk(node) if isinstance(item, ast.Subscript)]
    # What is written for a later turn (``seen[t + 1] = ...``) is gone through in time.
    over_time = {
        ast.unparse(item.value)
        for item in items
        if isinstance(item.ctx, ast.Store)
        and isinstance(item.slice, ast.BinOp)
        and variables_read(item.slice) & loop.targets
    }
    indexed = [
        item.value
        for item in items
        if isinstance(item.ctx, ast.Load)
        and isinstance(item.slice, ast.Name)
        and item.slice.id in loop.targets
        and ast.unparse(item.value) not in over_time
    ]
    for expression in (*named, *indexed):
        value = value_of(expression, known)
        if value is not None:
            yield value


def _length(value: Value) -> int | None:
    """Return how many arrays or objects it has; None for numbers and networks."""
    rows = value.shape[0] if value.shape is not None and len(value.shape) > 1 else 0
    if value.is_container and value.holds_objects:
        rows = value.length or 0
    return rows if rows > 1 else None


def _loops(node: ast.AST) -> Iterator[EnvLoop]:
    if isinstance(node, ast.For):
        iterable = node.iter
    elif isinstance(node, Comprehension):
        iterable = node.generators[0].iter
    else:
        return
    if _goes_over_envs(iterable):
        yield _loop(node)


def _loop(node: ast.For | Comprehension) -> EnvLoop:
    if isinstance(node, ast.For):
        return EnvLoop(
            node.body[0].lineno,
            node.body[-1].end_lineno or node.body[-1].lineno,
            node.iter,
            frozenset(names_in(node.target)),
            _trains(node),
            _calls(node.body),
        )
    return EnvLoop(
        node.lineno,
        node.end_lineno or node.lineno,
        node.generators[0].iter,
        frozenset(names_in(node.generators[0].target)),
        _trains(node),
        _calls(_elements(node)),
    )


def _goes_over_envs(iterable: ast.expr) -> bool:
    if isinstance(iterable, ast.Call):
        if isinstance(iterable.func, ast.Attribute) and called_name(iterable) in (
            "items",
            "values",
        ):
            return _goes_over_envs(iterable.func.value)
        through = called_name(iterable) in _THROUGH
        return through and any(_goes_over_envs(argument) for argument in iterable.args)
    if isinstance(iterable, ast.Attribute):
        name = iterable.attr
    elif isinstance(iterable, ast.Name):
        name = iterable.id
    else:
        return False
    return any(pattern.match(name) for pattern in (_ENVS, _PER_ENV, _COUNT))


def _elements(node: Comprehension) -> list[ast.expr]:
    made = made_each_turn(node)
    return made + [condition for generator in node.generators for condition in generator.ifs]


def _calls(body: Sequence[ast.AST]) -> frozenset[tuple[int, int]]:
    return frozenset((call.lineno, call.col_offset) for call in calls_in(*body))


def calls_of_turns(parts: Iterable[ast.AST]) -> Iterator[ast.Call]:
    """Yield the calls among ``parts``; of a ``map`` the one that it makes in each turn."""
    for part in parts:
        loop = mapped(part)
        made = loop.elt if loop is not None else part
        if isinstance(made, ast.Call):
            yield made


def _trains(node: ast.AST) -> bool:
    return any(called_name(call) in ("backward", "zero_grad") for call in calls_in(node))


def is_of_its_own(call: ast.Call, targets: frozenset[str]) -> bool:
    """Tell whether the loop brings a policy for each environment: ``for env, policy in zip(...)``."""
    on = receiver(call) or call.func
    if isinstance(on, ast.Subscript):
        name = own_name(on.value)
        return bool(re.search(r"polic(y|ies)|agents?|actors?|models?|nets?$", name))
    return isinstance(on, ast.Name) and on.id in targets and bool(_POLICY.match(on.id))


def asks_a_policy(call: ast.Call) -> bool:
    """Tell whether a call is of a policy, by its name, or works on tensors."""
    if root_name(call.func) in TENSOR_MODULES:
        return called_name(call) not in _MAKES_TENSORS
    if called_name(call) in _TENSOR_METHODS:
        return True
    if _POLICY.match(called_name(call)):
        return True
    on = receiver(call)
    name = own_name(on)
    return bool(_POLICY.match(name)) or bool(_ASKS.match(called_name(call)))


def environments_in(loop: EnvLoop, text: str, parameters: Parameters) -> int | None:
    """Return how many environments the loop goes over, where it was seen, or the program's text or command tells."""
    if loop.length is not None:
        return loop.length
    for node in calls_in(loop.iterable):
        if called_name(node) == "range" and len(node.args) == 1:
            count = parameters.value(node.args[0])
            if count is not None:
                return count
    names = {
        part.attr if isinstance(part, ast.Attribute) else part.id
        for part in ast.walk(loop.iterable)
        if isinstance(part, ast.Attribute | ast.Name)
    }
    lengths = {
        length
        for name, expression in _made_by_range(text)
        if name in names and (length := parameters.value(expression)) is not None
    }
    return lengths.pop() if len(lengths) == 1 else parameters.named(*COUNT_NAMES)


def rows_of_each(
    module: SourceModule | None, line: int, loops: Sequence[EnvLoop], parameters: Parameters
) -> int:
    """Return how many rows of each environment are asked for at ``line``, as for several agents: the turns of the loops within ``loops``, by whose
    counters the line is told what to ask for, and that step nothing.
    """
    statement = module.statement_at(line) if module is not None else None
    if module is None or statement is None:
        return 1
    rows = 1
    for inner in module.loops_around(line):
        is_within = any(loop.first_line <= inner.lineno <= loop.last_line for loop in loops)
        match inner.iter, inner.target:
            case [ast.Call(args=[number]), ast.Name(id=counter)] if (
                called_name(inner.iter) == "range"
            ):
                is_row = _asks_for_a_row_of(module, inner, counter, statement)
                if is_within and is_row and not _steps(inner):
                    rows *= max(1, parameters.value(number) or 1)
    return rows


def _asks_for_a_row_of(
    module: SourceModule, loop: ast.For | ast.AsyncFor, counter: str, asking: Statement
) -> bool:
    """Tell whether what ``asking`` reads, itself and by variables that the turn has made, is told by the loop's counter, and nothing of it is
    changed in the loop otherwise.
    """
    left = _left_by_a_turn(loop, module)
    made = {name: value for name, value in _made_once(loop).items() if name not in left}
    passed: set[int] = set()
    read: set[str] = set()
    pending: list[ast.AST] = [*asking.expressions()]
    while pending:
        part = pending.pop()
        passed.update(map(id, ast.walk(part)))
        for node in ast.walk(part):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                text = ast.unparse(node)
                if text in made and text not in read:
                    pending.append(made[text])
                read.add(text)
    changed: set[str] = set()
    for node in nodes_in(*loop.body):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name not in made:
                changed.add(name)
            case (
                ast.Subscript(value=base, ctx=ast.Store())
                | ast.Attribute(value=base, ctx=ast.Store())
            ):
                changed.add(ast.unparse(base))
            case ast.Call(func=ast.Attribute(value=owner)) if id(node) not in passed:
                changed.add(ast.unparse(owner))
    return counter in read and (changed - NUMPY - TORCH).isdisjoint(read)


def _made_once(loop: ast.For | ast.AsyncFor) -> dict[str, ast.expr]:
    """Variables that each turn makes anew, by one statement of the loop's own, of others, with what they are made of."""
    stores = Counter(
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return {
        target.id: value
        for statement in loop.body
        for target, value, is_unpacked in assigned(statement)
        if isinstance(target, ast.Name)
        and not is_unpacked
        and stores[target.id] == 1
        and target.id not in variables_read(value)
    }


def _steps(loop: ast.For | ast.AsyncFor) -> bool:
    return any(called_name(call) in STEPS for call in calls_in(loop))


@lru_cache(maxsize=PARSED_FILES)
def _made_by_range(text: str) -> tuple[tuple[str, ast.expr], ...]:
    """(name, length) of lists made as ``envs = [make() for _ in range(length)]``."""
    module = parse(text)
    found = []
    for node in ast.walk(module.tree) if module else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.ListComp):
            continue
        iterable = node.value.generators[0].iter
        if isinstance(iterable, ast.Call) and called_name(iterable) == "range":
            for target in node.targets:
                name = own_name(target)
                found.append((name, iterable.args[-1]))
    return tuple(found)
