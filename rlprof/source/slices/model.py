"""A program as a slice sees it: statements, with the places that they read and write."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

RETURNED: Final = "return"
"""Name of the place that holds what a function returns."""


class DataPlace(NamedTuple):
    """Something that has a value: a variable of one function, an attribute of whatever object."""

    scope: str
    """The function, with its file; empty for variables of modules, and attributes."""
    name: str
    """``kl``; ``.rows`` of an attribute."""


ANY_ATTRIBUTE: Final = DataPlace("", ".*")
"""What is read by a name that is no word of the source, as of ``vars(run)``."""


class Doing(Enum):
    """Effect of a call of something that is not the program's own."""

    COMPUTES = auto()
    CHANGES = auto()
    """The object whose method it is."""
    ASKS = auto()
    """A network."""
    TELLS = auto()
    """Shows or logs what it is given."""
    ACTS = auto()
    """Anything else."""


Judge = Callable[[str, ast.Call], Doing]
"""Of a file and a call in it."""


@dataclass(slots=True, eq=False)
class FlowStep:
    """A statement, or the header of one that has a body."""

    node: ast.stmt
    function: str
    around: FlowStep | None
    """The statement in whose body it is, within its function."""
    reads: set[DataPlace] = field(default_factory=set)
    writes: set[DataPlace] = field(default_factory=set)
    lasting: set[DataPlace] = field(default_factory=set)
    """Those of ``writes`` that are there when its function has returned."""
    runs: set[str] = field(default_factory=set)
    """The program's own functions that it may call."""
    acts: bool = False
    """True if it does something that no place shows."""
    is_asked_for: bool = False
    """True if somebody whom the sources do not show takes what it returns."""
    leaves: bool = False
    """True if what comes after it may not run."""
    tells: bool = False


@dataclass(slots=True)
class DataFlow:
    """The statements of all files that were read."""

    steps: list[FlowStep] = field(default_factory=list)
    at: dict[tuple[str, int], list[FlowStep]] = field(default_factory=lambda: defaultdict(list))
    """By file and line."""
    same: dict[DataPlace, set[DataPlace]] = field(default_factory=lambda: defaultdict(set))
    """Places that may hold one object: parameters, and what they are given."""
    elements: set[tuple[DataPlace, DataPlace]] = field(default_factory=set)
    """Containers, and what is put into them by its name."""
    deep: set[DataPlace] = field(default_factory=set)
    """Containers whose elements are changed in place."""
    is_opaque: bool = False
    """True if it reads or writes variables by names that are no words of the source."""

    def link(self, one: DataPlace, other: DataPlace) -> None:
        """Note that both may hold one object."""
        self.same[one].add(other)
        self.same[other].add(one)
