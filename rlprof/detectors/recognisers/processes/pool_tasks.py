"""Loops that give a pool of processes one task, and wait for its end, before they give it the next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.source.answer_chains import needs_no_other_turn
from rlprof.source.values import value_of
from rlprof.syntax.loop_elements import Turns, turns_at
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    assigned_variable,
    called_name,
    receiver,
    variables_read,
)
from rlprof.syntax.nodes import calls_in, given_to, nodes_in

_GIVES: Final = frozenset({"submit", "apply_async"})
_TAKES: Final = frozenset({"result", "get"})
_DOES_BOTH: Final = "apply"
_OF_PROCESSES: Final = re.compile(r"ProcessPoolExecutor|pool\.Pool$|loky|MPIPoolExecutor")
"""Pools whose tasks run side by side."""
_MAKERS: Final = frozenset(
    {"ProcessPoolExecutor", "Pool", "get_reusable_executor", "MPIPoolExecutor"}
)

_KEEPS: Final = frozenset({"append", "extend", "add", "insert", "print", "info", "debug"})
"""Calls that a turn may make besides: what else it does may be what the next task finds."""
_TURNS: Final = frozenset(
    {"range", "zip", "enumerate", "reversed", "sorted", "list", "tuple", "tqdm", "items", "values", "keys"}
)  # fmt: skip
"""Calls that a loop may go through: another one may make each task of what was answered before."""

_MORE: Final = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Raise, ast.With, ast.Try, ast.Global, ast.Nonlocal, ast.If, ast.IfExp, ast.BoolOp,
    ast.While, ast.For, ast.GeneratorExp, ast.Lambda, ast.NamedExpr,
)  # fmt: skip
"""Where a turn has one of these, it may do otherwise by what was answered, or not do so in each turn."""

MOST_WORKERS: Final = 16


class Round(NamedTuple):
    """Workers or tasks that a loop goes through."""

    of: str
    """Whom a turn asks, in words, as written."""
    workers: int | None
    """How many can work side by side; None where nobody looked."""
    of_pool: bool = False
    of_proxies: bool = False
    """True if they are objects of managers, whose methods ask and wait."""


class _Task(NamedTuple):
    """A task that a line waits for."""

    pool: ast.expr
    given: ast.Call
    """The call that gives it to the pool."""
    waits: ast.Call
    """The call that waits for its end; the same where one does both."""

    def arguments(self) -> list[ast.expr]:
        return given_to(self.given)


class PoolTasks(SteadySearch):
    """Reads loops of the program that wait for tasks."""

    def round_at(self, node: int) -> Round | None:
        """Return the loop of which ``node``, which waits for a task's end, is a turn."""
        frame = self.tree.frame(node)
        module = self.lines.module(frame.file)
        task = _task(module, frame.line) if module is not None else None
        turns = next(iter(turns_at(module, frame.line)), None) if module is not None else None
        if module is None or task is None or turns is None or _is_lazy(module, frame.line, task):
            return None
        if not _could_all_be_given(task, turns):
            return None
        known = self.values.between(frame.file, turns.lines)
        pool = value_of(task.pool, known)
        if pool is None or not _OF_PROCESSES.search(pool.type):
            return None
        tasks = [
            seen.length
            for element in turns.elements.values()
            if (seen := value_of(element, known)) and seen.length
        ]
        workers = [
            number for number in (_workers(module), *tasks, *_literal(turns)) if number is not None
        ]
        fewest = min(workers, default=None)
        return None if fewest == 1 else Round(f"the pool {ast.unparse(task.pool)}", fewest, True)


def _task(module: SourceModule, line: int) -> _Task | None:
    """Return the task that a line waits for: ``pool.submit(f, x).result()``, in one statement or two, or ``pool.apply(f, (x,))``."""
    for statement in module.statements_at(line):
        for call in (each for part in statement.expressions() for each in calls_in(part)):
            owner = receiver(call)
            if owner is None:
                continue
            if called_name(call) == _DOES_BOTH:
                return _Task(owner, call, call)
            if called_name(call) not in _TAKES:
                continue
            given = [
                each for each in _made(module, statement, owner) if called_name(each) in _GIVES
            ]
            pool = receiver(given[0]) if len(given) == 1 else None
            if pool is not None:
                return _Task(pool, given[0], call)
    return None


def _is_lazy(module: SourceModule, line: int, task: _Task) -> bool:
    """Tell whether a generator gives it: whoever takes from that may stop."""
    return any(
        isinstance(node, ast.GeneratorExp) and task.given in ast.walk(node)
        for statement in module.statements_at(line)
        for node in statement.walk()
    )


def _made(module: SourceModule, statement: Statement, owner: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls whose result ``owner`` is: itself, or what is assigned to the variable in its function."""
    if isinstance(owner, ast.Call):
        yield owner
    elif isinstance(owner, ast.Name):
        own = (other.node for other in module.of_function(statement.function))
        assigned = (value for name, value in map(assigned_variable, own) if name == owner.id)
        yield from (value for value in assigned if isinstance(value, ast.Call))


def _could_all_be_given(task: _Task, turns: Turns) -> bool:
    """Tell whether each turn gives the pool something of its own, waits, and keeps the answer, and does nothing else."""
    nodes = list(nodes_in(*turns.body))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if task.given not in calls or any(isinstance(node, _MORE) for node in nodes):
        return False
    sources = list(turns.elements.values())
    if any(
        isinstance(source, ast.Call) and called_name(source) not in _TURNS for source in sources
    ):
        return False
    arguments = task.arguments()
    given = variables_read(*arguments)
    if given.isdisjoint(turns.elements):
        return False
    others = [call for call in calls if call is not task.given and call is not task.waits]
    through = {ast.unparse(source) for source in sources}
    if any(
        called_name(other) not in _KEEPS or ast.unparse(receiver(other) or other.func) in through
        for other in others
    ):
        return False
    # Parts of objects are written nowhere: another task may be given the object.
    if any(
        isinstance(node, ast.Attribute | ast.Subscript) and not _is_own_item(node, given)
        for node in nodes
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    ):
        return False
    stored = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    if not stored.isdisjoint(
        given | {root for source in sources for root in variables_read(source)}
    ):
        return False
    return needs_no_other_turn(turns.body, task.waits, arguments, task.pool, by_any_call=True)


def _is_own_item(target: ast.AST, given: set[str]) -> bool:
    """Tell ``scores[i] = ...`` of a variable that no task is given."""
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id not in given
    )


def _workers(module: SourceModule) -> int | None:
    """The number of workers that the file gives a pool as a constant."""
    for statement in module.statements:
        for call in (each for part in statement.expressions() for each in calls_in(part)):
            if called_name(call) in _MAKERS:
                words = (
                    keyword.value
                    for keyword in call.keywords
                    if keyword.arg in ("max_workers", "processes")
                )
                for number in (*call.args[:1], *words):
                    if isinstance(number, ast.Constant) and isinstance(number.value, int):
                        return number.value
    return None


def _literal(turns: Turns) -> Iterator[int]:
    """Yield how many turns there are, where the source says so."""
    for source in turns.elements.values():
        match source:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                yield len(parts)
            case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
                yield number
