"""Calls in C, and work on long lists, that have a cheaper way: known by the values that were seen on a line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.calls.key_texts import text_for_a_key
from rlprof.detectors.recognisers.calls.long_lists import OnList, done_to_a_long_list
from rlprof.detectors.recognisers.calls.sorted_arrays import ranked_by_function, sorted_whole
from rlprof.libraries.base import SlowCall
from rlprof.libraries.known import LIBRARIES
from rlprof.model.finding import Range
from rlprof.model.recording import Frame
from rlprof.source.lines import UserLines, last_name
from rlprof.source.value import Value
from rlprof.source.values import Values, value_of
from rlprof.syntax.module import (
    SourceModule,
    Statement,
    called_name,
    variables_read,
)
from rlprof.syntax.nodes import given_by_name, given_to, without_index
from rlprof.syntax.pure_calls import hardly_works

DRAWN: Final = SlowCall(
    "choice(p=...) goes through all probabilities",
    "Keep the priorities in a sum tree, in which a draw and a change take some steps however many there are. Or draw by "
    "np.searchsorted(np.cumsum(p), rng.random(k)), without the checks that choice makes; with replace=False, draw again what came twice.",
    # 64 draws from 1 000 to 100 000: the second leaves 0.47 to 0.49 (benchmarks/replaced_calls.py, numpy 2.4).
    Range(0.45, 0.95),
)

_MOST_STEPS_TO_ODDS: Final = 4
"""Assignments between the priorities and the odds."""
_OF_ODDS: Final = (ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.expr_context, ast.Subscript, ast.Slice)  # fmt: skip
_LONG_TO_DRAW: Final = 1_000
"""Probabilities, each of which takes some ns to add up and to check."""

OBJECTS: Final = SlowCall(
    "numpy computes with arrays of Python objects",
    "Make the array one of numbers, once, where it is made: array.astype(np.float32), or table[columns].to_numpy(dtype=np.float32). A single column of "
    "another kind (bool, text, None) makes pandas hand out objects for all.",
    # benchmarks/replaced_calls.py: of 64 numbers 0.42 to 0.95 is left, of 1 440 0.04 to 0.23, of 10 000 0.02 to 0.06.
    Range(0.35, 0.99),
)
OF_MANY: Final = Range(0.8, 0.99)
"""Part that goes of arrays of ``_MANY`` numbers and more."""

_MANY: Final = 1_000
_SOME: Final = 200
"""Numbers from which on it is told."""

_ARITHMETIC: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult)
_REDUCES: Final = frozenset(
    {"mean", "std", "var", "sum", "prod", "max", "min", "dot", "cumsum", "clip", "astype"}
)

LEAST_BESIDE_OTHERS: Final = 0.3
"""Part of a line's time that goes, at least, where the line calls something else, too."""

_JOINS: Final = frozenset({"array", "asarray", "stack", "vstack", "concatenate", "append"})
"""Calls that take little beside those whose results they put together."""

_FEW: Final = 100
"""Numbers that are drawn in 1 to 3 µs; to make a generator takes 6 to 20."""

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
        statements = self._lines.statements(frame)
        on_line = [call for statement in statements for call in statement.calls()]
        for statement in statements:
            known = self._values.of(frame.file, statement)
            calls = list(statement.calls())
            for call in calls:
                name = _seen_name(call, known)
                if name in _IN_C and not is_meant(call, _IN_C[name]):
                    seen = f"{ast.unparse(call.func)}: {name}"
                    others = [
                        other
                        for other in on_line
                        if other is not call
                        and not (called_name(other) in _JOINS or hardly_works(other))
                    ]
                    yield SlowOnLine(
                        _IN_C[name],
                        seen,
                        is_alone=not others,
                        removable=_beside_draws(call, _IN_C[name], statement, others),
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

    def _of_long_list(
        self, file: str, statement: Statement, known: Mapping[str, Value]
    ) -> OnList | None:
        module = self._lines.module(file)
        if module is None:
            return None
        done = done_to_a_long_list(statement, known, module)
        return (
            done
            or text_for_a_key(statement, known, module)
            or done_to_objects(statement, known)
            or drawn_by_odds(statement, known, module)
            or sorted_whole(statement, known, module)
            or ranked_by_function(statement, known)
        )

    def _attributes(
        self, file: str, statement: Statement, known: Mapping[str, Value]
    ) -> dict[str, Value]:
        """Return the attributes that a statement uses, as objects of the same class were seen to have them at any line of the file."""
        module = self._lines.module(file)
        methods: dict[str, set[int]] = defaultdict(set)
        for function in module.functions if module else ():
            methods[function.class_name].update(function.lines)
        found = {
            ast.unparse(node): self._values.attribute(
                file, class_name, node.attr, methods[class_name]
            )
            for node in statement.walk()
            if isinstance(node, ast.Attribute)
            if (class_name := _class_of(node.value, statement, known))
        }
        return {text: value for text, value in found.items() if value is not None}


def is_meant(call: ast.Call, slow: SlowCall) -> bool:
    """Tell whether what it is given says that there is no cheaper way."""
    if slow.of_its_seed:
        return not all(map(_is_written_out, given_to(call)))
    return _does_many(call, slow.many_by)


def _is_written_out(argument: ast.expr) -> bool:
    try:
        ast.literal_eval(argument)
    except (ValueError, TypeError):
        return False
    return True


def _beside_draws(
    call: ast.Call, slow: SlowCall, statement: Statement, others: Sequence[ast.Call]
) -> Range | None:
    """Return the part that goes of a line that makes a generator, and draws from it numbers that may be many."""
    if not slow.of_its_seed:
        return None
    made: set[str] = set()
    match statement.node:
        case ast.Assign(targets=targets, value=value) if value is call:
            made.update(map(ast.unparse, targets))
    is_drawn = any(
        isinstance(other.func, ast.Attribute)
        and (call in ast.walk(other.func.value) or ast.unparse(other.func.value) in made)
        and not all(map(_is_small, given_to(other)))
        for other in others
    )
    return Range(0.0, slow.removable.high) if is_drawn else None


def _is_small(argument: ast.expr) -> bool:
    """Tell whether, taken as the size of a draw, it is known to be one of few numbers."""
    if not _is_written_out(argument):
        return False
    size = ast.literal_eval(argument)
    sizes = size if isinstance(size, tuple | list) else (size,)
    return all(isinstance(each, int | float) for each in sizes) and abs(prod(sizes)) <= _FEW


def _seen_name(call: ast.Call, known: Mapping[str, Value]) -> str:
    """Return what it was seen to call: a function, a class, or a method in C of an object, of which only the class is seen."""
    callee = value_of(call.func, known)
    if callee is not None:
        return callee.function or callee.made
    owner = value_of(call.func.value, known) if isinstance(call.func, ast.Attribute) else None
    return f"{owner.type}.{called_name(call)}" if owner is not None else ""


def _does_many(call: ast.Call, keywords: Collection[str]) -> bool:
    return bool(keywords) and (
        len(call.args) > 2 or any(argument.arg in keywords for argument in call.keywords)
    )


def _class_of(owner: ast.expr, statement: Statement, known: Mapping[str, Value]) -> str:
    """The class of an object; empty where it is not known."""
    if isinstance(owner, ast.Name) and owner.id == "self" and statement.function is not None:
        return statement.function.class_name
    value = value_of(owner, known)
    return last_name(value.type) if value is not None else ""


def done_to_objects(statement: Statement, known: Mapping[str, Value]) -> OnList | None:
    """Return what ``statement`` computes with an array that was seen to hold objects. Only numbers can be divided or have a mean."""
    found: list[Value] = []
    sizes: list[int] = []
    calls = 0
    for operand, is_of_call in _computed_with(statement, known):
        array = without_index(operand)
        if (value := _objects(array, known)) is not None:
            calls += is_of_call
            found.append(value)
            sizes += [value.numbers or 0] if array is operand else []
    match statement.node:
        case ast.Assign(targets=[target]) if (made := _objects(target, known)) is not None:
            sizes.append(made.numbers or 0)
    largest = max(found, key=lambda value: value.numbers or 0, default=None)
    if largest is None or (largest.numbers or 0) < _SOME:
        return None
    many = max(sizes, default=0) >= _MANY
    return OnList(OBJECTS, largest.in_words(), calls, OF_MANY if many else None)


def _objects(expression: ast.expr, known: Mapping[str, Value]) -> Value | None:
    value = value_of(expression, known)
    is_of_objects = value is not None and value.fields.get("dtype", "").startswith("O")
    return value if is_of_objects else None


def _computed_with(
    statement: Statement, known: Mapping[str, Value]
) -> Iterator[tuple[ast.expr, bool]]:
    """Yield what arithmetic is done with, and whether a call does it."""
    for node in statement.walk():
        match node:
            case ast.BinOp(left, operator, right) if isinstance(operator, _ARITHMETIC):
                yield left, False
                yield right, False
            case ast.Call(func=ast.Attribute(value=owner)) if called_name(node) in _REDUCES:
                value = value_of(owner, known)
                is_of_module = value is not None and value.type == "module"
                yield from ((each, True) for each in (node.args[:1] if is_of_module else [owner]))


def drawn_by_odds(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> OnList | None:
    """Return the draw of ``statement``, or the odds that it makes for one."""
    for call in _draws(statement):
        if seen := _drawn(call, known):
            return OnList(DRAWN, seen, calls=1)
    seen = _made_to_draw_from(statement, known, module)
    # One way to draw needs the odds all the same, so that less of their time may go than of the draw's.
    return OnList(DRAWN, seen, calls=None) if seen else None


def _draws(statement: Statement) -> Iterator[ast.Call]:
    for node in statement.calls():
        if called_name(node) == "choice":
            yield node


def _drawn(call: ast.Call, known: Mapping[str, Value]) -> str:
    """The probabilities in words, where they were seen to be many; empty where as many are drawn, as to resample particles."""
    many, size = call.args[:1], [*call.args[1:2], *given_by_name(call, "size")]
    if many and size and ast.dump(many[0]) == ast.dump(size[0]):
        return ""
    for odds in given_by_name(call, "p"):
        value = value_of(odds, known)
        if value is not None and (value.numbers or 0) >= _LONG_TO_DRAW:
            return f"{ast.unparse(odds)}: {value.in_words()}"
    return ""


def _made_to_draw_from(
    statement: Statement, known: Mapping[str, Value], module: SourceModule
) -> str:
    """The array in words, where all that the statement does is to make of it the odds of a draw in the same function: what a sum tree has
    no need of.
    """
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=made):
            pass
        case _:
            return ""
    if not all(isinstance(part, _OF_ODDS) for part in ast.walk(made)):
        return ""
    own = module.of_function(statement.function)
    odds = {
        given.id
        for other in own
        for call in _draws(other)
        for given in given_by_name(call, "p")
        if isinstance(given, ast.Name)
    }
    for _ in range(_MOST_STEPS_TO_ODDS):
        for other in own:
            match other.node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target in odds:
                    odds |= variables_read(value)
    if name not in odds:
        return ""
    for part in ast.walk(made):
        operand = part if isinstance(part, ast.Name | ast.Attribute) else None
        seen = value_of(operand, known) if operand is not None else None
        if operand is not None and seen is not None and (seen.numbers or 0) >= _LONG_TO_DRAW:
            return f"{ast.unparse(operand)}: {seen.in_words()}"
    return ""
