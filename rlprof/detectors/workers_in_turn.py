"""Workers that are asked one after the other, each only when the one before it has answered."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.detectors.base import Detector, InSamples, Need
from rlprof.detectors.recognisers.line_time import SteadySearch, time_by
from rlprof.detectors.recognisers.processes.pool_tasks import PoolTasks, Round
from rlprof.model.activity import FOR_OTHERS, Activity, WaitKind
from rlprof.model.finding import Confidence, Finding, Range, Saving
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.answer_chains import needs_no_other_turn
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.values import value_of
from rlprof.syntax.bound_inputs import arguments_given
from rlprof.syntax.imports import root_name
from rlprof.syntax.loop_elements import Turns, turns_at
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    Statement,
    called_name,
    receiver,
)
from rlprof.syntax.nodes import calls_in, given_to
from rlprof.syntax.shared_variables import reads_what_others_change
from rlprof.units import count

_SENDS: Final = frozenset({"send", "send_bytes", "sendall", "put"})
_RECEIVES: Final = frozenset({"recv", "recv_bytes", "get"})
_WAITS: Final = frozenset({WaitKind.PIPE, WaitKind.QUEUE, WaitKind.SOCKET})
_OF_THREADS: Final = re.compile(r"[/\\](queue|threading)\.py$")
"""Queues within a process: whether its threads could work side by side the interpreter lock decides."""
_PROXIES: Final = re.compile(r"[/\\]multiprocessing[/\\]managers\.py$")
_OF_A_PROXY: Final = "_callmethod"
"""Method of a manager's proxy that asks its process and waits, whatever is called."""
_MOST_LEVELS: Final = 4
"""Functions from the one that waits up to the one with the loop, as methods of a proxy that a vector environment calls."""

MIN_SHARE: Final = 0.05
"""Least share of the critical time, asleep until an answer comes."""

FEWEST, MOST = 2, 16
"""Workers where nobody has seen how many there are."""

LEAST_LEFT: Final = 0.3
"""Part of what is left by that reckoning that may be left: who is asked later also wakes up while others work. By reason."""
MOST_LEFT: Final = 1.3
"""The same at most: workers are not all equally slow, and the slowest is waited for."""

_ALL_WORKERS: Final = (
    "Ask all of them first, then take the answers in a second loop: they work side by side then."
)
_ALL_PROXIES: Final = (
    "A call of a proxy waits for its answer: make the calls from threads, one for each worker (ThreadPoolExecutor.map), or ask all "
    "over pipes first and take the answers in a second loop."
)
_ALL_TASKS: Final = "Give it all tasks first, then take the results in a second loop: its workers work side by side then. pool.map does both."


def detect(profile: Profile) -> Iterable[Finding]:
    lines = UserLines.of(profile)
    loops = [loop for loop in RequestLoops(profile, lines).found() if loop.round.workers != 1]
    whole = profile.critical.wall_us
    time = time_by(lambda loop: loop.share * whole, profile, lines, loops, MIN_SHARE)
    # Where no core is free, nobody could work meanwhile.
    if time is None or profile.load.saturated:
        return
    asked, is_beside = time.most.round, time.most.is_beside
    loops = [loop for loop in loops if loop.is_beside == is_beside]
    workers = min((loop.round.workers or 0 for loop in loops), default=0) or None
    waited_us = sum(loop.waited_us for loop in loops)
    removable = _removable(workers, waited_us, is_beside, profile)
    of_pool = asked.of_pool
    yield Finding(
        title=f"{'a pool is given one task' if of_pool else 'workers are asked one'} after the other ({time.place})",
        savings=tuple(_beside(time.total_us, removable, profile))
        if is_beside
        else (
            Saving(frozenset(node for loop in loops for node in loop.nodes), removable),
            *_of_work(waited_us, removable, profile),
        ),
        locations=time.locations,
        evidence=(
            time.share_spent("asleep until one has answered"),
            f"each turn of the loop gives {asked.of} one task, and waits for its end"
            if of_pool
            else f"each turn of the loop asks {asked.of}, and waits for its answer before the next is asked",
            *(
                [f"seen there: {count(asked.workers)} of them"]
                if asked.workers and not of_pool
                else []
            ),
        ),
        fix=_ALL_TASKS if of_pool else _ALL_PROXIES if asked.of_proxies else _ALL_WORKERS,
        confidence=Confidence.BOUNDED,
    )


def _of_work(waited_us: float, removable: Range, profile: Profile) -> Iterator[Saving]:
    """The work that fills these waits, which the workers do side by side then. They may work in other waits as well."""
    critical = {activity.thread for activity in profile.activities if activity.is_critical}
    all_waits_us = sum(
        wait.wall_us
        for wait in profile.waits
        if wait.thread in critical and wait.kind in FOR_OTHERS
    )
    part = min(1.0, waited_us / max(waited_us, all_waits_us))
    nodes = frozenset(
        node
        for activity in profile.activities
        if not activity.is_critical and activity.is_main
        for node, _ in activity.tree.self_costs()
    )
    if nodes:
        yield Saving(nodes, Range(part * removable.low, part * removable.high))


def _beside(share_us: float, removable: Range, profile: Profile) -> Iterator[Saving]:
    """Return the waits for work of those that make the steps when they are asked, while another one has it: they are what goes."""
    nodes = frozenset(
        node
        for wait in profile.waits
        if wait.thread in profile.critical.threads and wait.kind in FOR_OTHERS
        for node in wait.nodes
    )
    waited_us = profile.steady.cost_of(nodes).wall_us
    if waited_us:
        part = share_us / waited_us
        yield Saving(nodes, Range(min(1.0, part * removable.low), min(1.0, part * removable.high)))


def _removable(workers: int | None, waited_us: float, is_beside: bool, profile: Profile) -> Range:
    """Return the part that goes: the wait for the slowest is left, and side by side the workers have no more than all cores."""
    others_us = sum(
        activity.on_cpu_us for activity in profile.activities if activity.is_critical is is_beside
    )
    on_all_cores = others_us / max(1.0, profile.load.cores) / max(1.0, waited_us)
    least, most = (
        min(1.0, max(1 / number, on_all_cores)) for number in (workers or MOST, workers or FEWEST)
    )
    return Range(1 - min(1.0, MOST_LEFT * most), 1 - LEAST_LEFT * least)


@dataclass(slots=True)
class RequestLoop:
    """A line that waits for the answer of one worker, in each turn of a loop over them."""

    place: Line
    round: Round
    nodes: set[int] = field(default_factory=set)
    """Where it waits."""
    waited_us: float = 0.0
    """Asleep there, whoever works meanwhile."""
    share: float = 0.0
    """The same as a part of the waiting threads' time."""
    is_beside: bool = False
    """True if the steps are made by those that are asked, whose time is the critical one, and not by who asks."""


class RequestLoops(SteadySearch):
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._tasks = PoolTasks(profile, lines)
        critical = [
            activity for activity in profile.activities if activity.is_critical and activity.is_main
        ]
        self._askers = critical + [
            activity
            for activity in profile.activities
            if activity.is_main and activity not in critical
        ]
        self._critical_us = sum(
            activity.wall_us for activity in profile.activities if activity.is_critical
        )

    def found(self) -> list[RequestLoop]:
        """Read the threads' own time: in the steady phase the work of those that they wait for has taken the waits' place. Who asks may be
        critical itself, or hand out the work of critical ones.
        """
        loops: dict[Line, RequestLoop] = {}
        rounds: dict[int, Round | None] = {}
        waits = (
            (node, cost.idle_us, activity)
            for activity in self._askers
            for node, cost in sorted(activity.tree.self_costs())
        )
        for node, idle_us, activity in waits:
            kind = self.profile.wait_kinds.get(node)
            owner = self.lines.owner(node)
            if not idle_us or owner == NO_PARENT:
                continue
            if kind is not WaitKind.FUTURE and (
                kind not in _WAITS or _OF_THREADS.search(self.tree.frame(node).file)
            ):
                continue
            if owner not in rounds:
                of_pool = kind is WaitKind.FUTURE
                rounds[owner] = (
                    self._tasks.round_at(owner)
                    if of_pool
                    else self._round(owner, self._called_of_a_proxy(node, owner), activity)
                )
            if (found := rounds[owner]) is not None:
                place = self.lines.line(owner)
                loop = loops.setdefault(place, RequestLoop(place, found))
                loop.nodes.add(node)
                loop.waited_us += idle_us
                whole = self._critical_us if activity.is_critical else activity.wall_us
                loop.share += idle_us / max(1, whole)
                loop.is_beside = not activity.is_critical
        return list(loops.values())

    def _called_of_a_proxy(self, node: int, owner: int) -> str:
        """Return the method of a manager's proxy that the user's line calls, if it waits in one; else nothing."""
        called, waits = "", False
        while node not in (owner, NO_PARENT):
            frame = self.tree.frame(node)
            called = last_name(frame.function)
            waits = waits or (called == _OF_A_PROXY and _PROXIES.search(frame.file) is not None)
            node = self.tree.nodes[node].parent
        return called if waits else ""

    def _round(self, node: int, proxied: str, asker: Activity) -> Round | None:
        """Return the round of which ``node``, which waits for an answer, is a turn; ``proxied`` is the method of a proxy that waits."""
        found = self._round_of(node, proxied)
        if found is None or not proxied:
            return found
        # One process that serves several proxies does so in threads.
        serving = {each.process for each in self.profile.activities} - {asker.process}
        return found._replace(workers=min(found.workers or MOST, len(serving)), of_proxies=True)

    def _round_of(self, node: int, proxied: str) -> Round | None:
        frame = self.tree.frame(node)
        module = self.lines.module(frame.file)
        request = _request(module, frame.line, proxied) if module is not None else None
        for _ in range(_MOST_LEVELS):
            if module is None or request is None:
                return None
            for turns in turns_at(module, frame.line):
                container = _element(request.worker, turns)
                if container is not None:
                    is_round = request.is_of(turns, module)
                    return self._told(frame.file, turns, container) if is_round else None
            function = module.function_at(frame.line)
            node = self.lines.owner(self.tree.nodes[node].parent)
            if function is None or node == NO_PARENT or not request.is_of_one_worker:
                return None
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file)
            request = _handed(request, function, module, frame.line) if module else None
        return None

    def _told(self, file: str, turns: Turns, container: ast.expr) -> Round:
        seen = value_of(container, self.values.between(file, turns.lines))
        return Round(f"one of {ast.unparse(container)}", seen.length if seen is not None else None)


class _Request(NamedTuple):
    """A call that waits for an answer, as one function sees it."""

    worker: ast.expr
    """The object that answers."""
    waits: ast.Call
    """The call in which that is waited for."""
    asks: tuple[ast.Call, ...]
    """Calls before it in the function that may have asked: ``waits`` itself, where the function that it calls does both; none where that one
    only waits, and its callers ask.
    """

    def is_of(self, turns: Turns, module: SourceModule) -> bool:
        """Tell whether each turn asks and waits, and needs no answer of another turn. Asked in a loop before, all work at the same time."""
        inside = list(calls_in(*turns.body))
        at_times = list(calls_in(*turns.at_times))
        asks = [
            ask
            for ask in self.asks
            if ask in inside
            and ask not in at_times
            and (ask is self.waits or _is_of_turn(ask, turns))
        ]
        given = [arg for ask in asks for arg in given_to(ask)]
        if reads_what_others_change(module, given, turns.body):
            return False
        return bool(asks) and needs_no_other_turn(turns.body, self.waits, given, self.worker)

    @property
    def is_of_one_worker(self) -> bool:
        """True if the function asks the worker for whose answer it waits, or asks nobody."""
        own, whole = root_name(self.worker), ast.unparse(self.worker)
        asked = [of for ask in self.asks if (of := receiver(ask)) is not None]
        return (
            self.asks in ((), (self.waits,))
            or any(root_name(of) == own for of in asked)
            or any(ast.unparse(of) == whole for ask in self.asks for of in given_to(ask))
        )


def _request(module: SourceModule, line: int, proxied: str) -> _Request | None:
    for statement in module.statements_at(line):
        for call in statement.calls():
            worker = receiver(call)
            if worker is not None and called_name(call) == proxied:
                return _Request(worker, call, (call,))
            if proxied or called_name(call) not in _RECEIVES or worker is None:
                continue
            return _Request(worker, call, _asks_until(module, statement))
    return None


@lru_cache(maxsize=PARSED_FILES)
def _asking(module: SourceModule) -> frozenset[str]:
    """The names of the file's functions that send something."""
    return frozenset(
        function.node.name
        for function in module.functions
        if any(called_name(call) in _SENDS for call in calls_in(function.node))
    )


def _asks_until(module: SourceModule, statement: Statement) -> tuple[ast.Call, ...]:
    """Return the calls of a function, up to ``statement``, that send something, or are of functions of the file that do."""
    asking = _asking(module)
    return tuple(
        call
        for earlier in module.of_function(statement.function)
        if earlier.first_line <= statement.first_line
        for call in earlier.calls()
        if called_name(call) in _SENDS or called_name(call) in asking
    )


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


def _is_of_turn(call: ast.Call, turns: Turns) -> bool:
    of = receiver(call)
    return of is not None and _element(of, turns) is not None


def _handed(
    request: _Request, function: Function, module: SourceModule, line: int
) -> _Request | None:
    """Return the request as a line sees it that calls ``function``: of the call's object, or of what it is given."""
    for statement in module.statements_at(line):
        for call in statement.calls():
            if called_name(call) == function.node.name:
                given = arguments_given(module, call, function) or {}
                handed = given.get(root_name(request.worker))
                asks = (call,) if request.asks else _asks_until(module, statement)
                return _Request(handed, call, asks) if handed is not None else None
    return None


DETECTOR: Final = Detector(
    id="workers-in-turn",
    name="workers that are asked one after the other",
    in_samples=InSamples(detect, needs=frozenset({Need.SAMPLES, Need.SOURCES})),
)
