"""Networks that one turn asks several times for the same rows, in one function or through others that it calls."""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.recorded_graphs import asks_network
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT
from rlprof.source.histories import Level
from rlprof.source.lines import Line, UserLines
from rlprof.source.recurrence import is_call_of
from rlprof.source.values import value_of
from rlprof.syntax.ancestors import parents
from rlprof.syntax.bound_inputs import arguments_given, only_value
from rlprof.syntax.dependencies import arguments_of, assigned_by
from rlprof.syntax.module import Function, FunctionNode, SourceModule, called_name
from rlprof.syntax.nodes import calls_in

_MOST_LEVELS: Final = 4
"""Functions that are looked at from the network up to who asks it twice."""

_MOST_VARIABLES: Final = 8
"""Variables that are followed to what they are made of."""

_CHANGES: Final = frozenset(
    {"step", "backward", "reset", "train", "eval", "load_state_dict", "reset_noise", "sample_noise"}
)
"""Calls after which a network may answer otherwise, or its input be another one: an environment may write into its observation."""


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """A network that is asked several times for the same rows."""

    network: str
    """As it is written in the function whose turn asks it more than once: ``net.body``."""
    given: str
    """What it is given, as written there."""
    place: Line
    """Of these that which takes most."""
    lines: tuple[Line, ...]
    """All lines of the function that ask it so."""
    goes: float
    """Part of the time of all these that is that of the others than the dearest."""
    nodes: frozenset[int]
    has_others: bool
    """True if lines that ask it ask other networks, too, whose work cannot be told from its."""


class _Site(NamedTuple):
    """A call in the function that asks: by its place, and the statement that it is in."""

    line: int
    column: int
    statement: ast.stmt


@dataclass(slots=True)
class _Question:
    """All sites in one function that ask the same."""

    module: SourceModule
    file: str
    function: Function
    call: ast.Call
    sites: dict[_Site, set[int]]
    """With the nodes of the asked networks."""
    has_others: bool = False


class AskedAgainSearch(SteadySearch):
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._asked: dict[tuple[str, str, str], _Question] = {}
        """By file, function and the text of the call in its terms."""

    def found(self) -> list[AskedAgain]:
        """Return each of them once: what is asked again in a function below is not told of those that call it."""
        for top in self.tree.topmost(asks_network) if self.values else ():
            self._look(top)
        found: list[AskedAgain] = []
        taken: set[int] = set()
        for asked in sorted(self._asked.values(), key=lambda each: -len(each.sites)):
            again = _in_one_turn(asked)
            if len(again) > 1 and not any(nodes & taken for nodes in again.values()):
                taken.update(*again.values())
                found.append(self._told(asked, again))
        return found

    def _told(self, asked: _Question, again: Mapping[_Site, set[int]]) -> AskedAgain:
        inside = {site: self.tree.subtrees(tops) for site, tops in again.items()}
        times = {site: self.tree.cost_of(nodes).wall_us for site, nodes in inside.items()}
        dearest = max(times, key=lambda site: times[site])
        total = sum(times.values())
        lines = {
            site: Line(asked.file, site.line, asked.function.qualname) for site in sorted(again)
        }
        return AskedAgain(
            network=ast.unparse(asked.call.func),
            given=", ".join(map(ast.unparse, asked.call.args)),
            place=lines[dearest],
            lines=tuple(dict.fromkeys(lines.values())),
            goes=1 - times[dearest] / total if total else 0.0,
            nodes=frozenset[int]().union(*inside.values()),
            has_others=asked.has_others,
        )

    def _look(self, top: int) -> None:
        """Note who asks a network, in the terms of each of the functions above."""
        levels = [*self._levels(top)]
        if not levels:
            return
        for call, has_others in self._innermost(levels[0][1]):
            self._note(top, levels, call, has_others=has_others)

    def _note(
        self, top: int, levels: Sequence[tuple[str, Level]], call: ast.Call, *, has_others: bool
    ) -> None:
        asking, asked = call, call
        for (file, level), above in zip_longest(levels, [each for _, each in levels[1:]]):
            function = level.statement.function
            if function is None:
                return
            told = _made_of(asked, function)
            key = (file, function.qualname, ast.unparse(told))
            known = self._asked.setdefault(
                key, _Question(level.module, file, function, told, defaultdict(set))
            )
            site = _Site(asking.lineno, asking.col_offset, level.statement.node)
            known.sites[site].add(top)
            known.has_others |= has_others
            outer = None if above is None else _only_call(function, above)
            if above is None or outer is None:
                return
            given = arguments_given(above.module, outer, function)
            if given is None or not _is_of_arguments(told, function, given):
                return
            asking, asked = outer, _replaced(told, given)

    def _levels(self, top: int) -> Iterator[tuple[str, Level]]:
        """Yield the statement of the user's that asks, and those that call its function, each with its file."""
        node = self.lines.owner(top)
        for _ in range(_MOST_LEVELS):
            while node != NO_PARENT and not self.lines.is_yours(self.tree.frame(node)):
                node = self.tree.nodes[node].parent
            if node == NO_PARENT:
                return
            frame = self.tree.frame(node)
            module = self.lines.module(frame.file)
            statements = [
                each
                for each in (module.statements_at(frame.line) if module is not None else ())
                if not isinstance(each.node, FunctionNode | ast.ClassDef)
            ]
            if module is None or len(statements) != 1:
                return
            yield (
                frame.file,
                Level(module, statements[0], self.values.of(frame.file, statements[0])),
            )
            node = self.tree.nodes[node].parent

    def _innermost(self, level: Level) -> Iterator[tuple[ast.Call, bool]]:
        """Yield the calls of networks in a statement that are given no answer of another one there, and whether there are more."""
        calls = [
            call
            for call in level.statement.calls()
            if (value := value_of(call.func, level.known)) is not None and value.is_network
        ]
        for call in calls:
            if not any(other is not call and other in ast.walk(call) for other in calls):
                yield call, len(calls) > 1


def _only_call(function: Function, above: Level) -> ast.Call | None:
    """Return the call of ``function`` in a statement; None where there are several."""
    calls = [call for call in above.statement.calls() if is_call_of(call, function, above.known)]
    return calls[0] if len(calls) == 1 else None


def _in_one_turn(asked: _Question) -> Mapping[_Site, set[int]]:
    """Return the sites each of which comes to pass whenever the first does, with nothing in between that changes the answer."""
    blocks: dict[int, list[_Site]] = defaultdict(list)
    order: dict[_Site, int] = {}
    bodies: dict[int, list[ast.stmt]] = {}
    for site in asked.sites:
        statement, body = _in_block(asked.module, site.statement)
        blocks[id(body)].append(site)
        bodies[id(body)] = body
        order[site] = body.index(statement) if statement in body else 0
    if not blocks:
        return {}
    block, sites = max(blocks.items(), key=lambda each: len(each[1]))
    sites.sort(key=lambda site: order[site])
    parts = [*ast.walk(asked.call)]
    names = frozenset(part.id for part in parts if isinstance(part, ast.Name))
    texts = frozenset(
        ast.unparse(part) for part in parts if isinstance(part, ast.Attribute | ast.Subscript)
    )
    between = bodies[block][order[sites[0]] : order[sites[-1]]]
    if any(_may_change(statement, names, texts) for statement in between):
        return {}
    return {site: asked.sites[site] for site in sites}


def _in_block(module: SourceModule, statement: ast.stmt) -> tuple[ast.stmt, list[ast.stmt]]:
    """Return the statements of the block that a statement is in, and which of them it is, or is in by a ``with``."""
    above = parents(module)
    outer = above.get(statement)
    while isinstance(outer, ast.With):
        statement, outer = outer, above.get(outer)
    for field in ("body", "orelse", "finalbody"):
        body = getattr(outer, field, None)
        if isinstance(body, list) and statement in body:
            return statement, body
    return statement, [statement]


def _may_change(statement: ast.stmt, names: frozenset[str], texts: frozenset[str]) -> bool:
    """Tell whether a statement gives one of the names or texts another value, or calls what may change a network."""
    written = texts | names
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and called_name(node) in _CHANGES:
            return True
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if is_stored and isinstance(node, ast.Name) and node.id in names:
            return True
        if is_stored and isinstance(node, ast.Attribute) and ast.unparse(node) in texts:
            return True
        if is_stored and isinstance(node, ast.Subscript) and ast.unparse(node.value) in written:
            return True
    return any(
        called_name(call).endswith("_") and _root(call) in names for call in calls_in(statement)
    )


def _root(call: ast.Call) -> str:
    """The variable whose method is called: ``x`` of ``x.data.mul_(2)``."""
    node: ast.expr = call.func
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _made_of(asked: ast.Call, function: Function) -> ast.Call:
    """Return ``asked`` with what variables of the function are made of in their place, where they are made once and only."""
    arguments = frozenset(arguments_of(function.node))
    for _ in range(_MOST_VARIABLES):
        names = {node.id for node in ast.walk(asked) if isinstance(node, ast.Name)}
        values = {name: only_value(function, name) for name in names - arguments}
        made = {
            name: value
            for name, value in values.items()
            if value is not None and not _unpacks(function, name)
        }
        if not made:
            return asked
        asked = _replaced(asked, made)
    return asked


def _unpacks(function: Function, name: str) -> bool:
    """Tell whether a variable is one of several that an assignment takes apart."""
    return any(
        isinstance(node, ast.Assign)
        and any(
            isinstance(target, ast.Tuple | ast.List)
            and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(target))
            for target in node.targets
        )
        for node in ast.walk(function.node)
    )


def _is_of_arguments(asked: ast.Call, function: Function, given: Mapping[str, ast.expr]) -> bool:
    """Tell whether all that it is made of is given by the caller, or is no variable of the function."""
    own = {*assigned_by(function), *arguments_of(function.node)}
    names = {node.id for node in ast.walk(asked) if isinstance(node, ast.Name)}
    return (names & own) <= given.keys() - assigned_by(function)


class _Replacing(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        return node if value is None else copy.deepcopy(value)


def _replaced(asked: ast.Call, values: Mapping[str, ast.expr]) -> ast.Call:
    """Return a copy of ``asked`` with ``values`` in place of the variables of these names."""
    replaced = copy.deepcopy(asked)
    _Replacing(values).generic_visit(replaced)
    return replaced
