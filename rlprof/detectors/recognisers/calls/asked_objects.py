"""Methods and properties that compute the same for an object each time, for it stays as it was made, and that several lines ask of one object."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines, last_name
from rlprof.syntax.module import Function, SourceModule
from rlprof.syntax.nodes import arguments_of, assigned, assigned_to
from rlprof.syntax.pure import Pure, pure_at
from rlprof.syntax.turn_changes import TurnChanges
from rlprof.syntax.writes import is_changed

_MOST_BETWEEN: Final = 4
"""Methods of the same object on the way to one that computes: ``over`` asks for ``moves``, and that for ``winner``."""


class _Asker(NamedTuple):
    """A function that asks one object."""

    file: str
    function: str
    receiver: str
    """The object, as it is written there."""


@dataclass(slots=True)
class AskedObject:
    """A method that could keep what it has computed."""

    pure: Pure
    attributes: frozenset[str]
    """Those that it reads of its object."""
    nodes: set[int] = field(default_factory=set)
    """Its calls."""
    weights: dict[Line, float] = field(default_factory=lambda: defaultdict(float))
    """µs by the line that asks."""
    askers: dict[_Asker, dict[int, float]] = field(default_factory=dict)
    """µs by line, of each."""
    again: tuple[_Asker, ...] = ()
    """Those that ask one object on several lines."""

    def again_us(self) -> float:
        """Return the time that goes for sure: that of all lines of these askers but the longest."""
        return sum(
            sum(by_line.values()) - max(by_line.values())
            for asker in self.again
            for by_line in (self.askers[asker],)
        )


class AskedObjects(SteadySearch):
    """Finds them in the steady phase."""

    def __init__(
        self,
        profile: Profile,
        lines: UserLines,
        changes: TurnChanges,
        is_as_read: Callable[[int, Pure], bool],
    ) -> None:
        super().__init__(profile, lines)
        self._changes = changes
        self._is_as_read = is_as_read
        self._known: dict[Frame, AskedObject | None] = {}

    def found(self) -> Iterator[AskedObject]:
        found: dict[tuple[str, str], AskedObject] = {}
        inside: set[int] = set()
        for node in [] if self._changes.others_may_write else self.tree.hot_nodes():
            frame, parent = self.tree.frame(node), self.tree.nodes[node].parent
            if parent in inside:
                inside.add(node)
                continue
            if frame not in self._known:
                self._known[frame] = self._method(frame)
            method = self._known[frame]
            if method is None or not self._is_as_read(node, method.pure):
                continue
            inside.add(node)
            one = found.setdefault((frame.file, method.pure.function), method)
            one.nodes.add(node)
            self._note_asker(node, one)
        for one in found.values():
            one.again = tuple(asker for asker in one.askers if self._asks_again(one, asker))
            if one.again:
                yield one

    def _method(self, frame: Frame) -> AskedObject | None:
        module = self.lines.module(frame.file) if self.lines.is_yours(frame) else None
        function = module.function_at(frame.line) if module is not None else None
        if module is None or function is None or not _asks_its_object_alone(function):
            return None
        pure = next((each for each in pure_at(module, frame) if each.function), None)
        if pure is None or not all(
            operand.steps[0] == "self" or _is_constant(module, operand.steps[0])
            for operand in pure.inputs
        ):
            return None
        attributes = self._changes.attributes_read(function)
        is_kept = self._changes.are_kept(attributes) and self._changes.are_given_by_one(
            attributes, function
        )
        if not attributes or not is_kept or self._are_written_into(attributes):
            return None
        return AskedObject(pure, attributes)

    def _are_written_into(self, attributes: frozenset[str]) -> bool:
        """Tell whether the program writes into what attributes of these names hold."""
        named = [ast.Attribute(ast.Name("self"), name) for name in attributes]
        return any(
            is_changed(module, None, each) for module in self._changes.modules for each in named
        )

    def _note_asker(self, node: int, one: AskedObject) -> None:
        """Add the time of a call to the line that asks, through other methods of the object alone."""
        asked = node
        for _ in range(_MOST_BETWEEN):
            caller = self.tree.nodes[asked].parent
            if caller == NO_PARENT or not self.lines.is_yours(self.tree.frame(caller)):
                return
            frame = self.tree.frame(caller)
            module = self.lines.module(frame.file)
            statement = module.statement_at(frame.line) if module is not None else None
            if statement is None:
                return
            name = last_name(self.tree.frame(asked).function)
            receivers = {
                ast.unparse(part.value)
                for part in statement.walk()
                if isinstance(part, ast.Attribute) and part.attr == name
            }
            if len(receivers) != 1:
                return
            (receiver,) = receivers
            if receiver != "self":
                us = self.tree.total_cost(node).wall_us
                one.weights[self.lines.line(caller)] += us
                asker = _Asker(frame.file, frame.function, receiver)
                by_line = one.askers.setdefault(asker, defaultdict(float))
                by_line[frame.line] += us
                return
            asked = caller

    def _asks_again(self, one: AskedObject, asker: _Asker) -> bool:
        """Tell whether it asks on several lines, and gives the receiver no other value from the first to the last."""
        lines = one.askers[asker]
        module = self.lines.module(asker.file)
        if len(lines) < 2 or module is None:
            return False
        between = range(min(lines), max(lines))
        function = module.function_at(between.start)
        return not any(
            _is_part(target, asker.receiver)
            for statement in module.of_function(function)
            if statement.first_line in between
            for each in assigned(statement.node)
            for target in ast.walk(each.target)
        )


def _asks_its_object_alone(function: Function) -> bool:
    return bool(function.class_name) and arguments_of(function.node) == ["self"]


def _is_constant(module: SourceModule, name: str) -> bool:
    """Tell whether the file gives a name of its own one value, and no function another one."""
    given = [
        statement.function
        for statement in module.statements
        for _ in assigned_to(name, [statement.node])
    ]
    is_global = any(
        isinstance(statement.node, ast.Global) and name in statement.node.names
        for statement in module.statements
    )
    return given.count(None) <= 1 and not is_global


def _is_part(target: ast.AST, receiver: str) -> bool:
    """Tell whether ``target`` is the receiver, or what it is an attribute or an item of."""
    if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        return False
    text = ast.unparse(target)
    return receiver == text or receiver.startswith((f"{text}.", f"{text}["))
