"""Networks that are asked for a whole history at each step, of whose answers the last alone is used."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from statistics import median
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch, called_right_there
from rlprof.detectors.recognisers.networks.recorded_graphs import RecordedGraphs
from rlprof.model.profile import Profile
from rlprof.profile.components import ENVIRONMENT, INFERENCE
from rlprof.source.histories import JOINS, Level, handed_over, is_history, joined_at
from rlprof.source.last_steps import taken_last
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.source.recurrent_values import recurrent_kind
from rlprof.source.value import Value
from rlprof.source.values import asked_network, callee, value_of
from rlprof.syntax.bound_inputs import only_value
from rlprof.syntax.module import Function, SourceModule, Statement, called_name
from rlprof.syntax.nodes import assigned, calls_in, items_of, names_in

FEWEST_SIZES: Final = 3
"""Lengths of a history, of which one or two may be those of a window, and of what is shorter at its beginning."""

FEWEST_STEPS: Final = 4
"""Steps of the middle one of these."""

MOST_LEVELS: Final = 4
"""Functions between the network and the list, at most."""

_KINDS: Final = frozenset({"LSTM", "GRU", "RNN"})
_ZEROS: Final = frozenset({"zeros", "new_zeros", "zeros_like"})
_MOVES: Final = frozenset({"to", "cuda", "cpu", "float", "double", "half", "detach"})
_KEPT: Final = re.compile(r"cache|past|state|memory|hidden|\*\*", re.I)
"""Names of what a transformer keeps of what it has read."""
_PLAIN_KINDS: Final = frozenset({"NoneType", "torch.Tensor", "int", "float", "bool", "str"})
_MASKS: Final = frozenset(
    {"tril", "triu", "tril_indices", "triu_indices", "generate_square_subsequent_mask"}
)
_ASKING: Final = (INFERENCE, ENVIRONMENT)


@dataclass(slots=True)
class RereadHistory:
    """A line that asks such a network."""

    place: Line
    kind: str
    """The class of torch that the network is: ``LSTM``; empty for one that is not recurrent, as a transformer."""
    network: str
    """As written."""
    steps: float
    """Those of the middle one of the histories that were seen."""
    most: int
    """Those of the longest."""
    rows: int
    """Histories that are gone through at once."""
    looks_back: bool
    """True if the source tells that it looks at nothing that comes later, as a recurrent network does."""
    nodes: set[int] = field(default_factory=set)
    joining: set[int] = field(default_factory=set)
    """Nodes of callers that join the observations of the history."""


class RereadHistories(SteadySearch):
    """Looks for them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._graphs = RecordedGraphs(profile)

    def found(self) -> list[RereadHistory]:
        recurrent = self._told(is_recurrent=True, but_for=frozenset())
        claimed = frozenset[int]().union(*(history.nodes for history in recurrent))
        return [*recurrent, *self._told(is_recurrent=False, but_for=claimed)]

    def _told(self, *, is_recurrent: bool, but_for: Collection[int]) -> list[RereadHistory]:
        """Return the histories of recurrent networks, or of others that none of ``but_for`` is in."""
        told: dict[Line, RereadHistory] = {}
        calls: dict[Line, list[ast.Call]] = {}
        taken: set[int] = set()
        # Callers come first: of two networks, one in the other, the outer one.
        for node in self.tree.hot_nodes():
            if not self.lines.is_yours(self.tree.frame(node)) or node in taken:
                continue
            line = self.lines.line(node)
            if line not in calls:
                calls[line] = [*self._calls(node, is_recurrent)]
            asked = (self._asked(node, line, call) for call in calls[line])
            history = next((each for each in asked if each is not None), None)
            if history is not None and history.nodes.isdisjoint(but_for):
                first = told.setdefault(line, history)
                first.nodes |= history.nodes
                taken |= history.nodes if not is_recurrent else set()
                first.joining.update(self._joining(node))
        return [*told.values()]

    def _calls(self, node: int, is_recurrent: bool) -> Iterator[ast.Call]:
        """Yield the calls of recurrent networks on the line of a node, or of others."""
        frame = self.tree.frame(node)
        for statement in self.lines.statements(frame):
            known = self.values.of(frame.file, statement)
            for call in statement.calls():
                network = asked_network(call, known)
                if network is None or (recurrent_kind(network) in _KINDS) != is_recurrent:
                    continue
                # One that holds a recurrent network has no keys and values to keep.
                if is_recurrent or not self._holds_recurrent(network):
                    yield call

    def _holds_recurrent(self, network: Value) -> bool:
        """Tell whether the class of the network, or one of the same file that it makes, makes a recurrent network of torch's."""
        module = self.lines.module(network.file) if network.file else None
        nodes = ast.walk(module.tree) if module is not None else ()
        classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        pending, seen = [last_name(network.type)], set[str]()
        while pending:
            name = pending.pop()
            if name in seen or name not in classes:
                continue
            seen.add(name)
            made = {called_name(call) for call in calls_in(classes[name])}
            if made & _KINDS:
                return True
            pending += sorted(made)
        return False

    def _asks_for_an_action(self, node: int) -> bool:
        """Tell whether the next observation is not known yet, or no gradient flows to the steps before."""
        if self.profile.parts and self.profile.parts[node] in _ASKING:
            return True
        above = (node, *self.tree.ancestors(node))
        return self._is_without_gradients(node) and not any(map(self._updates, above))

    def _updates(self, node: int) -> bool:
        """Tell whether its function makes gradients, and begins no episode: the targets of an update are computed without them, too."""
        frame = self.tree.frame(node)
        function = self.lines.function(frame) if self.lines.is_yours(frame) else None
        calls = {called_name(call) for call in (calls_in(function.node) if function else ())}
        return "backward" in calls and "reset" not in calls

    def _asked(self, node: int, line: Line, call: ast.Call) -> RereadHistory | None:
        at = [*islice(self._levels(node), MOST_LEVELS)]
        levels = [level for _, level in at]
        known, function = levels[0].known, levels[0].statement.function
        network = value_of(call.func, known)
        if function is None or network is None or not call.args:
            return None
        kind = recurrent_kind(network)
        kind = kind if kind in _KINDS else ""
        axis, rows, sizes = _lengths_of_history(call.args[0], known)
        if len(sizes) < FEWEST_SIZES or median(sizes) < FEWEST_STEPS:
            return None
        begins = _begins_at_zero(call, known, function) if kind else _keeps_nothing(call, known)
        modules = [levels[0].module, *self._defining(network)]
        if not begins or any(map(_goes_both_ways, modules)):
            return None
        taken = taken_last(levels, call, axis, is_recurrent=bool(kind))
        if taken is None:
            return None
        joined = joined_at(call.args[0], levels)
        if joined is not None:
            asks = self._is_without_gradients(node)
        else:
            asks = self._asks_for_an_action(node) and (
                is_history(call.args[0], levels) or self._is_handed_out(call.args[0], at)
            )
        if not asks:
            return None
        below = called_right_there(self.tree, node, ("torch",)) if kind else self.tree.subtree(node)
        nodes = {node, *below}
        if joined is not None and min(joined, taken) > 0:
            # All that is called between the two is asked for each step of the history.
            nodes.update(self._called_between(at[taken][0], node))
        network_text = " and ".join(
            ast.unparse(each.func)
            for each in calls_in(call)
            if asked_network(each, known) is not None
        )
        looks_back = bool(kind) or any(map(_looks_back, modules))
        return RereadHistory(
            line, kind, network_text, median(sizes), max(sizes), rows, looks_back, nodes
        )

    def _is_handed_out(self, given: ast.expr, at: Sequence[tuple[int, Level]]) -> bool:
        """Tell whether it is what a method gives that makes an array of all that it has seen: the step of an environment's wrapper."""
        if not at:
            return False
        (node, level), *above = at
        file, function = self.tree.frame(node).file, level.statement.function
        names = names_in(given)
        made = (
            (each.target, statement)
            for statement in level.module.of_function(function)
            for each in assigned(statement.node)
            if isinstance(each.target, ast.Name) and each.target.id in names
        )
        if any(self._gives_history(target, file, by, level.module) for target, by in made):
            return True
        return any(
            self._is_handed_out(value, above)
            for name in names
            for value in (handed_over(name, function, above[0][1]) if above else ())
        )

    def _gives_history(
        self, target: ast.Name, file: str, statement: Statement, module: SourceModule
    ) -> bool:
        """Tell whether ``statement`` gives ``target`` what a method returns, or a part of it, that is one."""
        match statement.node:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as whole], value=ast.Call() as call):
                called = callee(call, self.values.of(file, statement), module)
            case _:
                return False
        defined = self.lines.module(called.file) if called.is_yours else None
        function = defined.function_at(called.line) if defined is not None else None
        if defined is None or function is None or function.code_line != called.line:
            return False
        targets = items_of(whole)
        position = targets.index(target) if target in targets else len(targets)
        for returned in defined.of_function(function):
            if isinstance(returned.node, ast.Return) and returned.node.value is not None:
                parts = items_of(returned.node.value)
                if position < len(parts) and is_history(
                    parts[position], [Level(defined, returned, {})]
                ):
                    return True
        return False

    def _defining(self, network: Value) -> Iterator[SourceModule]:
        """Yield the file that the network's class is written in, if it is the program's."""
        module = self.lines.module(network.file) if network.file else None
        if module is not None:
            yield module

    def _is_without_gradients(self, node: int) -> bool:
        return any(map(self._graphs.may_be_off, (node, *self.tree.ancestors(node))))

    def _called_between(self, above: int, node: int) -> Iterator[int]:
        """Yield the nodes of what ``above`` calls to get to ``node``, and of all that this calls."""
        path = [node, *self.tree.ancestors(node)]
        yield from self.tree.subtree(path[path.index(above) - 1])

    def _levels(self, node: int) -> Iterator[tuple[int, Level]]:
        """Yield the statement of ``node`` and those of the user's lines above it, each with its node."""
        for above in (node, *self.tree.ancestors(node)):
            frame = self.tree.frame(above)
            module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
            statement = module.statement_at(frame.line) if module is not None else None
            if module is not None and statement is not None:
                yield above, Level(module, statement, self.values.of(frame.file, statement))

    def _joining(self, node: int) -> Iterator[int]:
        """Yield callers whose line makes a tensor of a list that was seen to be of as many lengths."""
        for above in self.tree.ancestors(node):
            frame = self.tree.frame(above)
            if not self.lines.is_yours(frame):
                continue
            known = self.values.between(frame.file, range(frame.line, frame.line + 1))
            joined = (
                value_of(given, known)
                for statement in self.lines.statements(frame)
                for call in statement.calls()
                if called_name(call) in JOINS
                for given in call.args
            )
            if any(
                value and value.is_container and len(value.counts) >= FEWEST_SIZES
                for value in joined
            ):
                yield from called_right_there(self.tree, above, ("torch", "numpy"))


def _lengths_of_history(
    given: ast.expr, known: Mapping[str, Value]
) -> tuple[int, int, frozenset[int]]:
    """Return the axis that was not always as long, of a tensor that ``given`` is made of, while the others were, the rows, and the sizes of that axis;
    never that of the features, which tokens have none of.
    """
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], set[int]] = defaultdict(set)
    rows: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for part in ast.walk(given):
        value = value_of(part, known) if isinstance(part, ast.Name | ast.Attribute) else None
        for shape in value.shapes if value is not None and value.type == "torch.Tensor" else ():
            is_of_tokens = value is not None and value.holds_tokens
            for axis in range(len(shape) if is_of_tokens else len(shape) - 1):
                # By what the others are: updates may ask the same network for batches of sequences.
                others = shape[:axis], shape[axis + 1 :]
                found[others].add(shape[axis])
                features = 1 if is_of_tokens else shape[-1]
                rows[others] = prod(others[0]) * prod(others[1]) // max(1, features)
    if not found:
        return 0, 1, frozenset()
    longest = max(found, key=lambda others: len(found[others]))
    return len(longest[0]), max(1, rows[longest]), frozenset(found[longest])


def _keeps_nothing(call: ast.Call, known: Mapping[str, Value]) -> bool:
    """Tell whether a network that is not recurrent is handed nothing in which it may keep what it has read: masks and the like are tensors."""
    others = _beside_the_first(call)
    names = " ".join([*(word.arg or "**" for word in call.keywords), *map(ast.unparse, others)])
    values = (value_of(other, known) for other in others)
    kinds = {value.type for value in values if value is not None}
    return not _KEPT.search(names) and kinds <= _PLAIN_KINDS


def _looks_back(module: SourceModule) -> bool:
    """Tell whether a file makes a mask of what comes later, or asks for one."""
    return any(
        (isinstance(node, ast.keyword) and node.arg == "is_causal")
        or (isinstance(node, ast.Call) and called_name(node) in _MASKS)
        for node in ast.walk(module.tree)
    )


def _goes_both_ways(module: SourceModule) -> bool:
    """Tell whether a network of the file goes through sequences backwards, too: it needs all of one."""
    return any(
        isinstance(keyword, ast.keyword)
        and keyword.arg == "bidirectional"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
        for keyword in ast.walk(module.tree)
    )


def _begins_at_zero(call: ast.Call, known: Mapping[str, Value], function: Function) -> bool:
    """Tell whether the network is handed no state of the step before."""
    return all(_is_zero(state, known, function) for state in _beside_the_first(call))


def _beside_the_first(call: ast.Call) -> list[ast.expr]:
    """Return what a network is given beside the sequence."""
    return [*call.args[1:], *(keyword.value for keyword in call.keywords)]


def _is_zero(state: ast.expr, known: Mapping[str, Value], function: Function) -> bool:
    if isinstance(state, ast.Constant):
        return state.value is None
    if isinstance(state, ast.Tuple):
        return all(_is_zero(element, known, function) for element in state.elts)
    if isinstance(state, ast.Name):
        value, made = value_of(state, known), only_value(function, state.id)
        is_none = value is not None and value.types == {"NoneType"}
        return is_none or (made is not None and _is_zero(made, known, function))
    if not isinstance(state, ast.Call):
        return False
    is_moved = isinstance(state.func, ast.Attribute) and state.func.attr in _MOVES
    if is_moved and isinstance(state.func, ast.Attribute):
        return _is_zero(state.func.value, known, function)
    return called_name(state) in _ZEROS
