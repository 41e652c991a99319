"""Lines that draw transitions one by one from a container, and make arrays of what was drawn.

Followed by name within a function, and from the function that draws to those that call it. A draw of
indices into arrays, ``states[rng.integers(size, size=64)]``, is none of these lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from rlprof.source.draws import (
    APPENDS,
    DRAWS,
    MAKERS,
    RECKONING,
    appended_to,
    draws_indices,
    is_permutation,
    makes_array,
)
from rlprof.source.row_loops import row_loops
from rlprof.syntax.imports import NUMPY, TORCH, own_name, root_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Comprehension,
    Statement,
    called_name,
    parse,
    receiver,
)
from rlprof.syntax.nodes import calls_in, names_in

_BY_ROW: Final = frozenset({"cat", "stack"})
"""Functions of torch: a tensor for each transition costs several times what an array or a tuple does."""

_GENERATOR: Final = re.compile(r"(^|_)(random|rng|rand|generator)$", re.IGNORECASE)
_MEMORY: Final = re.compile(
    r"(memory|memories|buffer|replay|experiences?|storage|transitions|dataset|^rb|^mem|^er)\w*$",
    re.IGNORECASE,
)

_ANY_DRAWS: Final = DRAWS | {"random", "randbelow", "rand", "uniform"}
"""Those with what draws numbers, of which places in a container may be reckoned."""


class SamplingPart(Enum):
    DRAW = "transitions are drawn one by one"
    PERMUTATION = "all indices are shuffled for the few that are drawn"
    GATHER = "arrays are made of what was drawn"
    LOOP = "a loop draws each row of a batch and appends it to lists"


@dataclass(frozen=True, slots=True)
class ReplayLine:
    part: SamplingPart
    of_tensors: bool
    """True if each transition holds tensors, which are put together one by one."""


def drawing_functions(texts: Iterable[str]) -> frozenset[str]:
    """Names of functions that give back what they drew: ``def sample(self, n): return random.sample(...)``."""
    return frozenset(name for text in texts for name in _drawing_functions(text))


@lru_cache(maxsize=PARSED_FILES)
def find_replay_lines(text: str, drawing: frozenset[str]) -> Mapping[int, ReplayLine]:
    """The lines of a source file that draw and gather, by number; ``drawing`` are functions that draw."""
    found: dict[int, ReplayLine] = {}
    for statements in _functions_that_call(_ANY_DRAWS | drawing, text):
        for statement, line in _follow(statements, drawing):
            found |= dict.fromkeys(statement.lines, line)
    for statements in _functions_that_call(APPENDS, text):
        for lines in row_loops(statements):
            found |= dict.fromkeys(lines, ReplayLine(SamplingPart.LOOP, of_tensors=False))
    return found


def replay_lines_by_file(sources: Mapping[str, str]) -> dict[str, Mapping[int, ReplayLine]]:
    """The lines of all files that draw or gather batches; files without any are left out."""
    drawing = drawing_functions(sources.values())
    found = {file: find_replay_lines(text, drawing) for file, text in sources.items()}
    return {file: lines for file, lines in found.items() if lines}


@lru_cache(maxsize=PARSED_FILES)
def _drawing_functions(text: str) -> frozenset[str]:
    names: set[str] = set()
    for statements in _functions_that_call(_ANY_DRAWS, text):
        drawn = _DrawnVariables(frozenset())
        for statement in statements:
            drawn.take(statement)
            value = statement.node.value if isinstance(statement.node, ast.Return) else None
            if value is not None and statement.function and drawn.is_drawn(value):
                names.add(statement.function.node.name)
    return frozenset(names)


def _functions_that_call(names: frozenset[str], text: str) -> Iterator[list[Statement]]:
    """Yield the statements of each function that calls one of ``names``, in their order."""
    # A search of the text is a hundred times quicker than a walk of its syntax tree.
    if any(name in text for name in names):
        yield from (statements for called, statements in _by_function(text) if called & names)


@lru_cache(maxsize=PARSED_FILES)
def _by_function(text: str) -> list[tuple[frozenset[str], list[Statement]]]:
    """The names that each function calls, with its statements."""
    module = parse(text)
    return [
        (
            frozenset(called_name(node) for statement in group for node in statement.calls()),
            group,
        )
        for group in (module.by_function() if module else ())
    ]


def _follow(
    statements: list[Statement], drawing: frozenset[str]
) -> Iterator[tuple[Statement, ReplayLine]]:
    drawn = _DrawnVariables(drawing)
    for statement in statements:
        part = drawn.take(statement)
        if part is not None:
            yield statement, ReplayLine(part, _joins_tensors(statement))


class _DrawnVariables:
    """The variables of a function that hold drawn transitions, in a container of Python's."""

    def __init__(self, drawing: frozenset[str]) -> None:
        self._drawing = drawing
        self._names: set[str] = set()
        self._indices: set[str] = set()
        """Variables that hold the drawn places in the container."""

    def take(self, statement: Statement) -> SamplingPart | None:
        """Follow one statement; the part that it plays, if any."""
        part = self._part(statement)
        node = statement.node
        if isinstance(node, ast.Assign):
            names = names_in(*node.targets)
            if self.is_drawn(node.value):
                self._names |= names
            else:
                self._names -= names
            if draws_indices(node.value):
                self._indices |= names
        elif isinstance(node, ast.For) and part is SamplingPart.GATHER:
            # ``for s, a in batch: states.append(s)``: the lists are made of what was drawn.
            self._names |= names_in(node.target)
        elif (appended := appended_to(node)) and part is not None:
            self._names.add(appended)
        return part

    def _part(self, statement: Statement) -> SamplingPart | None:
        node = statement.node
        calls = list(statement.calls())
        if any(_is_draw(call) for call in calls) or any(
            self._is_picking(part) for part in statement.walk()
        ):
            return SamplingPart.DRAW
        if appended_to(node) and any(
            _is_random_element(argument) for call in calls for argument in call.args
        ):
            return SamplingPart.DRAW
        if any(is_permutation(part) for part in statement.walk()):
            return SamplingPart.PERMUTATION
        if isinstance(node, ast.For):
            only_appends = all(appended_to(inner) for inner in node.body)
            return SamplingPart.GATHER if only_appends and self._mentions(node.iter) else None
        if appended_to(node):
            return SamplingPart.GATHER if any(self._mentions(call) for call in calls) else None
        gathers = any(
            called_name(call) in MAKERS | {"zip", "map"}
            and any(self._mentions(argument) for argument in call.args)
            for call in calls
        )
        return SamplingPart.GATHER if gathers or self._picks(statement) else None

    def _picks(self, statement: Statement) -> bool:
        return any(
            isinstance(part, Comprehension) and self._mentions(part.generators[0].iter)
            for part in statement.walk()
        )

    def _is_picking(self, node: ast.AST) -> bool:
        """``[memory[i] for i in indices]``, or with each drawn where it is picked."""
        if not isinstance(node, ast.ListComp):
            return False
        if _is_random_element(node.elt):
            return True
        return (
            isinstance(node.elt, ast.Subscript)
            and bool(_MEMORY.search(own_name(node.elt.value)))
            and any(
                (isinstance(part, ast.Name) and part.id in self._indices) or draws_indices(part)
                for part in ast.walk(node.generators[0].iter)
            )
        )

    def is_drawn(self, value: ast.expr) -> bool:
        """Tell whether ``value`` is a container of drawn transitions, or of their fields."""
        if self._is_picking(value):
            return True
        if isinstance(value, Comprehension):
            makes = any(makes_array(part) for part in calls_in(value))
            return not makes and self._mentions(value.generators[0].iter)
        if isinstance(value, ast.Call):
            if makes_array(value) or is_permutation(value):
                return False
            if _is_draw(value) or self._is_call_of_drawing(value):
                return True
            arguments = [
                argument.value if isinstance(argument, ast.Starred) else argument
                for argument in value.args
            ]
            passes = (
                called_name(value) in ("zip", "list", "tuple") or called_name(value)[:1].isupper()
            )
            return passes and any(self.is_drawn(argument) for argument in arguments)
        if isinstance(value, ast.Subscript | ast.Attribute):
            return self.is_drawn(value.value)
        return isinstance(value, ast.Name) and value.id in self._names

    def _mentions(self, expression: ast.AST) -> bool:
        return any(
            (isinstance(part, ast.Name) and part.id in self._names)
            or (isinstance(part, ast.Call) and (_is_draw(part) or self._is_call_of_drawing(part)))
            for part in ast.walk(expression)
        )

    def _is_call_of_drawing(self, call: ast.Call) -> bool:
        name = called_name(call)
        if name not in self._drawing:
            return False
        # ``distribution.sample()`` is another matter.
        on = receiver(call)
        return name != "sample" or bool(_MEMORY.search(own_name(on)) or own_name(on) == "self")


def _is_draw(call: ast.Call) -> bool:
    """``random.sample(memory, n)``, ``rng.choices(memory, k=n)``, ``sample(memory, n)``."""
    if len(call.args) + len(call.keywords) < 2:
        return False
    name = called_name(call)
    if isinstance(call.func, ast.Name):
        return name == "sample"
    on = receiver(call)
    if root_name(call.func) in NUMPY | TORCH | {"jax"}:
        return False
    return name in ("sample", "choices") and bool(_GENERATOR.search(own_name(on)))


def _is_random_element(node: ast.expr) -> bool:
    """``data[random.randrange(len(data))]``, ``random.choice(memory)``: one transition."""
    if isinstance(node, ast.Call):
        chosen = called_name(node) == "choice" and len(node.args) == 1 and not node.keywords
        from_random = own_name(receiver(node)) == "random"
        return chosen and from_random and bool(_MEMORY.search(own_name(node.args[0])))
    if not isinstance(node, ast.Subscript):
        return False
    length = f"len({ast.unparse(node.value)})"
    return any(
        called_name(part) not in RECKONING for part in calls_in(node.slice)
    ) and length in ast.unparse(node.slice)


def _joins_tensors(statement: Statement) -> bool:
    return any(
        called_name(part) in _BY_ROW and root_name(part.func) in TORCH for part in statement.calls()
    )
