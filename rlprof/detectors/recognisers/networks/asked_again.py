"""Networks that one turn asks several times for the same rows, in one function or through others that it calls."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.networks.recorded_graphs import asks_network
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.histories import Level
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.recurrence import is_call_of
from rlprof.source.values import asked_network
from rlprof.syntax.bound_inputs import arguments_given, only_value
from rlprof.syntax.changed import chain, changed_in_place
from rlprof.syntax.dependencies import assigned_by
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import (
    Comprehension,
    Function,
    FunctionNode,
    SourceModule,
    variables_assigned,
)
from rlprof.syntax.nodes import arguments_of, assigned, calls_in, given_to, names_in, with_variables
from rlprof.syntax.pure_calls import hardly_works, is_computing_method, only_computes
from rlprof.syntax.same_turn import Functions, Watched, together
from rlprof.syntax.writes import is_changed

_RANDOM: Final = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]dropout\.py$")
"""Layers that answer to each question with another network."""

_DRAWS: Final = frozenset({"sample", "rsample"})
_MOST_LEVELS: Final = 4
"""Functions that are looked at from the network up to who asks it twice."""

_MOST_VARIABLES: Final = 8
"""Variables that are followed to what they are made of."""


def answers_by_chance(inside: Iterable[Frame]) -> bool:
    """Tell of a network that calls what is ``inside`` whether it draws units to leave out, or its answer."""
    return any(
        _RANDOM.search(frame.file) or last_name(frame.function) in _DRAWS for frame in inside
    )


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """A network that is asked several times for the same rows."""

    network: str
    """As it is written in the function whose turn asks it more than once: ``net.body``."""
    given: str
    """Arguments, as written there."""
    times: int
    place: Line
    """Line that takes most of these."""
    lines: tuple[Line, ...]
    """All lines of the function that ask it so."""
    goes: float
    """Part of the time of all these that is that of the others than the dearest."""
    nodes: frozenset[int]
    has_others: bool
    """True if lines that ask it ask other networks, too, whose work cannot be told from its."""


class _Site(NamedTuple):
    """A call in the function that asks: its place, and the statement that it is in."""

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
    level: int
    """Functions between it and the network, at least."""
    sites: dict[_Site, set[int]] = field(default_factory=lambda: defaultdict(set))
    """With the nodes of the asked networks."""
    made_of: list[ast.expr] = field(default_factory=list)
    """Forms of it at its sites, before variables are replaced by what they are made of, and after."""
    has_others: bool = False


class AskedAgainSearch(SteadySearch):
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._questions: dict[tuple[str, str, str], _Question] = {}
        """By file, function and the text of the call in its terms."""

    def found(self) -> list[AskedAgain]:
        """Return each of them once: what is asked again in a function below is not told of those that call it."""
        for top in self.tree.topmost(asks_network):
            self._look(top)
        functions = self._functions() if self._questions else {}
        found: list[AskedAgain] = []
        taken: set[int] = set()
        by_depth = sorted(self._questions.values(), key=lambda each: (each.level, -len(each.sites)))
        for asked in by_depth:
            again = _in_one_turn(asked, functions) if len(asked.sites) > 1 else {}
            tops = frozenset[int]().union(*again.values())
            by_chance = answers_by_chance(
                self.tree.frame(node) for node in self.tree.subtrees(tops)
            )
            if len(again) > 1 and tops.isdisjoint(taken) and not by_chance:
                taken |= tops
                found.append(self._told(asked, again))
        return found

    def _functions(self) -> Functions:
        """The program's functions by their names."""
        found: dict[str, list[FunctionNode]] = defaultdict(list)
        for module in self.lines.modules(self.profile.sources).values():
            for function in module.functions:
                found[function.node.name].append(function.node)
        return found

    def _told(self, asked: _Question, again: Mapping[_Site, set[int]]) -> AskedAgain:
        inside = {site: self.tree.subtrees(tops) for site, tops in again.items()}
        times = {site: self.tree.cost_of(nodes).wall_us for site, nodes in inside.items()}
        dearest = max(times, key=lambda site: times[site])
        total = sum(times.values())
        lines = {
            site: Line(asked.file, site.line, asked.function.qualname)
            for site in sorted(again, key=lambda site: site[:2])
        }
        return AskedAgain(
            network=ast.unparse(asked.call.func),
            given=", ".join(map(ast.unparse, asked.call.args)),
            times=len(again),
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
        for number, ((file, level), above) in enumerate(
            zip_longest(levels, [each for _, each in levels[1:]])
        ):
            function = level.statement.function
            if function is None or _is_bound_there(asked, level.statement.node):
                return
            told = _made_of(asked, function, level.module)
            if not _is_settled(told, level.module):
                return
            known = self._questions.setdefault(
                (file, function.qualname, ast.unparse(told)),
                _Question(level.module, file, function, told, number),
            )
            known.sites[_Site(asking.lineno, asking.col_offset, level.statement.node)].add(top)
            known.made_of += (asked, told)
            known.level = min(known.level, number)
            known.has_others |= has_others
            outer = None if above is None else _only_call(function, above)
            if above is None or outer is None:
                return
            given = arguments_given(above.module, outer, function)
            if given is None or not _is_of_arguments(told, function, given):
                return
            asking, asked = outer, with_variables(told, given)

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
            call for call in level.statement.calls() if asked_network(call, level.known) is not None
        ]
        for call in calls:
            if not any(other is not call and other in ast.walk(call) for other in calls):
                yield call, len(calls) > 1


def _only_call(function: Function, above: Level) -> ast.Call | None:
    """Return the call of ``function`` in a statement; None where there are several, or where ``*args`` hide what is given."""
    calls = [call for call in above.statement.calls() if is_call_of(call, function, above.known)]
    is_plain = len(calls) == 1 and not any(isinstance(each, ast.Starred) for each in calls[0].args)
    return calls[0] if is_plain else None


def _in_one_turn(asked: _Question, functions: Functions) -> Mapping[_Site, set[int]]:
    """Return the sites that come to pass together, with nothing in between that changes the answer."""
    statements = dict.fromkeys(site.statement for site in asked.sites)
    found = together(asked.module, statements, Watched.of(asked.made_of), functions)
    return {site: tops for site, tops in asked.sites.items() if site.statement in found}


def _is_bound_there(asked: ast.Call, statement: ast.stmt) -> bool:
    """Tell whether one of the names is a variable of a comprehension or of a lambda in the statement."""
    names = names_in(asked)
    bound: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, Comprehension):
            bound |= variables_assigned(*(each.target for each in node.generators))
        elif isinstance(node, ast.Lambda):
            bound |= {*arguments_of(node)}
    return not names.isdisjoint(bound)


def _is_settled(told: ast.Call, module: SourceModule) -> bool:
    """Tell whether what a network is given is the same each time it is written so: nothing of it is drawn, or taken from somewhere."""
    return all(_computes(call, module) for given in given_to(told) for call in calls_in(given))


def _computes(call: ast.Call, module: SourceModule) -> bool:
    if hardly_works(call) or only_computes(full_name(call.func, module.imports)):
        return True
    return isinstance(call.func, ast.Attribute) and is_computing_method(call.func.attr)


def _made_of(asked: ast.Call, function: Function, module: SourceModule) -> ast.Call:
    """Return ``asked`` with what variables of the function are made of in their place, where that still holds: they are made once and only, by what
    only computes, of what is not assigned later.
    """
    arguments = frozenset(arguments_of(function.node))
    for _ in range(_MOST_VARIABLES):
        names = names_in(asked)
        made = {
            name: value
            for name in names - arguments
            if (value := _still_made_of(name, function, module)) is not None
        }
        if not made:
            return asked
        asked = with_variables(asked, made)
    return asked


def _still_made_of(name: str, function: Function, module: SourceModule) -> ast.expr | None:
    value = only_value(function, name)
    targets = [each for node in ast.walk(function.node) for each in assigned(node)]
    if value is None or any(each.is_unpacked and each.value is value for each in targets):
        return None
    # Two arrays that are made alike and then written to are two.
    if is_changed(module, function, ast.Name(name)):
        return None
    read = names_in(value)
    later = [node for node in ast.walk(function.node) if getattr(node, "lineno", 0) >= value.lineno]
    stored = {
        node.id for node in later if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    stored |= {variable.id for each in changed_in_place(later) if (variable := chain(each)[0])}
    is_computed = all(_computes(call, module) for call in calls_in(value))
    return value if is_computed and read.isdisjoint(stored) else None


def _is_of_arguments(asked: ast.Call, function: Function, given: Mapping[str, ast.expr]) -> bool:
    """Tell whether all that it is made of is given by the caller, or is no variable of the function."""
    own = {*assigned_by(function), *arguments_of(function.node)}
    names = names_in(asked)
    return (names & own) <= given.keys() - assigned_by(function)
