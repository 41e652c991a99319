"""Calls in C, and work on long lists, that have a cheaper way: known by the values that were seen on a line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.long_lists import OnList, done_to_a_long_list
from rlprof.detectors.recognisers.object_arrays import done_to_objects
from rlprof.detectors.recognisers.weighted_draws import drawn_by_odds
from rlprof.libraries.base import SlowCall
from rlprof.libraries.known import LIBRARIES
from rlprof.model.finding import Range
from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import Statement, called_name, variables_assigned
from rlprof.syntax.pure_calls import hardly_works

LEAST_BESIDE_OTHERS: Final = 0.3
"""Part of a line's time that goes, at least, where the line calls something else, too."""

_JOINS: Final = frozenset({"array", "asarray", "stack", "vstack", "concatenate", "append"})
"""Calls that take little beside those whose results they put together."""

_IN_C: Final = {name: call for library in LIBRARIES for name, call in library.slow_in_c.items()}


class SlowOnLine(NamedTuple):
    """A slow call in C that was seen on a line."""

    call: SlowCall
    seen: str
    """Words for what it is, or works on."""
    is_alone: bool
    """True if nothing else is called there."""
    removable: Range | None = None
    """As the call says, if None."""

    @property
    def part(self) -> Range:
        """Part of the line's time that goes."""
        low, high = self.removable or self.call.removable
        return Range(low if self.is_alone else min(low, LEAST_BESIDE_OTHERS), high)


class SlowLines:
    """Tells what is slow on a line."""

    def __init__(self, lines: UserLines, values: Values) -> None:
        self._lines = lines
        self._values = values

    def at(self, frame: Frame) -> Iterator[SlowOnLine]:
        """Yield what is slow on a line."""
        for statement in self._lines.statements(frame):
            known = self._values.of(frame.file, statement)
            calls = list(statement.calls())
            for call in calls:
                name = _seen_name(call, known)
                if name in _IN_C and not self._is_meant(call, _IN_C[name], statement, frame):
                    seen = f"{ast.unparse(call.func)}: {name}"
                    others = (
                        other
                        for other in calls
                        if not (called_name(other) in _JOINS or hardly_works(other))
                    )
                    yield SlowOnLine(
                        _IN_C[name], seen, is_alone=all(other is call for other in others)
                    )
            # Python looks for signals at other lines of a loop than the one that searches.
            elsewhere = {
                **self._attributes(frame.file, statement, known),
                **self._values.within(frame.file, frame.function),
            }
            long = self._of_long_list(frame.file, statement, {**elsewhere, **known})
            if long is not None:
                is_alone = len(calls) == long.calls
                yield SlowOnLine(long.call, long.seen, is_alone, long.removable)

    def _is_meant(self, call: ast.Call, slow: SlowCall, statement: Statement, frame: Frame) -> bool:
        """Tell whether what it is given says that there is no cheaper way."""
        if _does_many(call, slow.many_by):
            return True
        module = self._lines.module(frame.file)
        loop = module.innermost_loop(frame.line) if module else None
        targets = [part.target for part in statement.walk() if isinstance(part, ast.comprehension)]
        if isinstance(loop, ast.For):
            targets.append(loop.target)
        given = {argument.id for argument in call.args if isinstance(argument, ast.Name)}
        return slow.of_each_turn and bool(given & variables_assigned(*targets))

    def _of_long_list(
        self, file: str, statement: Statement, known: Mapping[str, Value]
    ) -> OnList | None:
        module = self._lines.module(file)
        if module is None:
            return None
        done = done_to_a_long_list(statement, known, module)
        return done or done_to_objects(statement, known) or drawn_by_odds(statement, known, module)

    def _attributes(
        self, file: str, statement: Statement, known: Mapping[str, Value]
    ) -> dict[str, Value]:
        """Return the attributes that a statement uses, as objects of the same class were seen to have them at any line of the file."""
        module = self._lines.module(file)
        methods: dict[str, set[int]] = defaultdict(set)
        for function in module.functions if module else ():
            methods[function.class_name].update(range(function.first_line, function.last_line + 1))
        found = {
            ast.unparse(node): self._values.attribute(
                file, class_name, node.attr, methods[class_name]
            )
            for node in statement.walk()
            if isinstance(node, ast.Attribute)
            if (class_name := _class_of(node.value, statement, known))
        }
        return {text: value for text, value in found.items() if value is not None}


def _seen_name(call: ast.Call, known: Mapping[str, Value]) -> str:
    """Return what it was seen to call: a function, a class, or a method in C of an object, of which only the class is seen."""
    callee = value_of(call.func, known)
    if callee is not None:
        return callee.function or callee.made
    owner = value_of(call.func.value, known) if isinstance(call.func, ast.Attribute) else None
    return f"{owner.type}.{called_name(call)}" if owner is not None else ""


def _does_many(call: ast.Call, keyword: str) -> bool:
    return bool(keyword) and (
        len(call.args) > 2 or any(argument.arg == keyword for argument in call.keywords)
    )


def _class_of(owner: ast.expr, statement: Statement, known: Mapping[str, Value]) -> str:
    """The class of an object; empty where it is not known."""
    if isinstance(owner, ast.Name) and owner.id == "self" and statement.function is not None:
        return statement.function.class_name
    value = value_of(owner, known)
    return last_name(value.type) if value is not None else ""
