"""Loops that ask one worker, and wait for its answer, before they ask the next."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.model.activity import WaitKind
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.lines import Line, UserLines
from rlprof.source.loop_elements import Turns, turns_at
from rlprof.source.values import Values, value_of
from rlprof.source.written_names import root_name
from rlprof.syntax.module import Function, SourceModule, called_name, receiver

_SENDS: Final = frozenset({"send", "send_bytes", "put"})
_RECEIVES: Final = frozenset({"recv", "recv_bytes", "get"})
_WAITS: Final = frozenset({WaitKind.PIPE, WaitKind.QUEUE, WaitKind.SOCKET, WaitKind.FUTURE})
_MOST_LEVELS: Final = 4
"""Functions from the one that waits up to the one with the loop, as methods of a proxy that a vector environment calls."""


class Round(NamedTuple):
    """What a loop goes through."""

    container: str
    """As written."""
    workers: int | None
    """How many were seen in it; None where nobody looked."""


@dataclass(slots=True)
class RequestLoop:
    """A line that waits for the answer of one worker, in each turn of a loop over them."""

    place: Line
    round: Round
    nodes: set[int] = field(default_factory=set)
    """Where it waits."""


class RequestLoops:
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        self._lines = lines
        self._tree = profile.steady
        self._kinds = profile.wait_kinds
        self._values = Values(profile.values)

    def found(self) -> list[RequestLoop]:
        loops: dict[Line, RequestLoop] = {}
        rounds: dict[int, Round | None] = {}
        for node, cost in sorted(self._tree.self_costs()):
            owner = self._lines.owner(node)
            if not cost.idle_us or owner == NO_PARENT or self._kinds.get(node) not in _WAITS:
                continue
            if owner not in rounds:
                rounds[owner] = self._round(owner)
            if (found := rounds[owner]) is not None:
                place = self._lines.line(owner)
                loops.setdefault(place, RequestLoop(place, found)).nodes.add(node)
        return list(loops.values())

    def _round(self, node: int) -> Round | None:
        """Return the round of which ``node``, which waits for an answer, is a turn."""
        frame = self._tree.frame(node)
        module = self._lines.module(frame.file)
        request = _request(module, frame.line) if module is not None else None
        worker = request.worker if request is not None else None
        for _ in range(_MOST_LEVELS):
            if module is None or request is None or worker is None:
                return None
            for turns in turns_at(module, frame.line):
                container = _element(worker, turns)
                if container is not None:
                    # Sent in a loop before, the others work meanwhile.
                    is_asked = request.asked_in(turns.body)
                    return self._told(frame.file, turns, container) if is_asked else None
            function = module.function_at(frame.line)
            parent = self._tree.nodes[node].parent
            node = self._lines.owner(parent) if parent != NO_PARENT else NO_PARENT
            if function is None or node == NO_PARENT:
                return None
            frame = self._tree.frame(node)
            module = self._lines.module(frame.file)
            worker = _handed(worker, function, module, frame.line) if module else None
            request = request.within_a_call()
        return None

    def _told(self, file: str, turns: Turns, container: ast.expr) -> Round:
        seen = value_of(container, self._values.between(file, turns.lines))
        return Round(ast.unparse(container), seen.length if seen is not None else None)


class _Request(NamedTuple):
    """A call that waits for an answer."""

    worker: ast.expr
    """The object that answers, as the function of this level calls it."""
    asks: tuple[ast.Call, ...]
    """Calls that may have asked, before it in the same function; none where it asks itself, or the function did that was called."""

    def asked_in(self, body: Iterable[ast.AST]) -> bool:
        """Tell whether a turn asks the worker that it waits for."""
        inside = list(_calls(body))
        return not self.asks or any(it is each for it in self.asks for each in inside)

    def within_a_call(self) -> _Request | None:
        """Return it as a caller of the function sees it; None where that does not ask the same worker itself."""
        own = root_name(self.worker)
        asked = [of for it in self.asks if (of := receiver(it)) is not None]
        if self.asks and not any(root_name(of) == own for of in asked):
            return None
        return self._replace(asks=())


def _request(module: SourceModule, line: int) -> _Request | None:
    for statement in module.statements_at(line):
        for call in statement.walk():
            if not isinstance(call, ast.Call):
                continue
            worker = _asked_at_once(call)
            if worker is not None:
                return _Request(worker, ())
            worker = receiver(call)
            if called_name(call) in _RECEIVES and worker is not None:
                before = [
                    it
                    for it in module.statements
                    if it.function is statement.function and it.first_line <= line
                ]
                calls = _calls(part for it in before for part in it.expressions())
                asks = tuple(it for it in calls if called_name(it) in _SENDS)
                return _Request(worker, asks) if asks else None
    return None


def _asked_at_once(call: ast.Call) -> ast.expr | None:
    """Return whom a call asks that waits for the answer: the actor of ``ray.get(actor.step.remote(a))``, the argument of
    ``pool.submit(f, x).result()`` and ``pool.apply(f, (x,))``.
    """
    match call:
        case ast.Call(
            func=ast.Attribute(attr="get"),
            args=[
                ast.Call(func=ast.Attribute(attr="remote", value=ast.Attribute(value=actor))),
                *_,
            ],
        ):
            return actor
        case ast.Call(
            func=ast.Attribute(
                attr="result" | "get",
                value=ast.Call(
                    func=ast.Attribute(attr="submit" | "apply_async"), args=[_, given, *_]
                ),
            )
        ):
            return given
        case ast.Call(func=ast.Attribute(attr="apply"), args=[_, given, *_]):
            return given
    return None


def _element(worker: ast.expr, turns: Turns) -> ast.expr | None:
    """Return the container that a turn takes ``worker``, or the object that it is of, from."""
    current: ast.expr | None = worker
    while current is not None:
        container = turns.container(current)
        if container is not None:
            return container
        match current:
            case ast.Attribute(value=of):
                current = of
            case ast.Tuple(elts=[of, *_]):
                current = of
            case _:
                current = None
    return None


def _handed(
    worker: ast.expr, function: Function, module: SourceModule, line: int
) -> ast.expr | None:
    """Return what ``worker`` of ``function`` is at a line that calls it: its object, or what it is given."""
    name = root_name(worker)
    parameters = [it.arg for it in (*function.node.args.posonlyargs, *function.node.args.args)]
    is_method = bool(function.class_name)
    if name not in parameters:
        return None
    position = parameters.index(name) - is_method
    for statement in module.statements_at(line):
        for call in _calls(statement.expressions()):
            if called_name(call) == function.node.name:
                if position < 0:
                    return receiver(call)
                return call.args[position] if position < len(call.args) else None
    return None


def _calls(parts: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Call):
                yield node
