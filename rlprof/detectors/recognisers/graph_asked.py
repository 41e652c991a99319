"""Read which calls give a graph on a line, and what may become of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from rlprof.detectors.recognisers import graph_names as names
from rlprof.syntax.module import stands_for


class GraphUse(Enum):
    DROPPED = "dropped"
    """All of it is read and none is kept: nothing can ever go back through it."""
    RETURNED = "returned"
    """The caller has it."""
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class AskedAtLine:
    """Calls that give a graph: of a network, or of a function that returns one."""

    statements: frozenset[int] = frozenset()
    """Identities of the statements that call it."""
    name: str = ""
    """The function's; empty where it is not known, so that any call there may be it."""
    owners: frozenset[str] = frozenset()
    """What is called there and what that belongs to, as written: what else these have is of the same network."""

    calls: frozenset[int] = frozenset()
    """Identities of the calls that may be it, where its name is not known."""

    @classmethod
    def of(
        cls,
        nodes: Sequence[ast.stmt],
        own: Iterable[ast.AST],
        callee: str,
        defined: Callable[[ast.Call], bool],
    ) -> AskedAtLine:
        """``own`` are the syntax nodes on their own lines. Without a ``callee`` a network itself is called there, and nothing that is
        ``defined`` as a function of the program's.
        """
        here = list(own)
        found = [
            part
            for part in here
            if isinstance(part, ast.Name | ast.Attribute) and last_name_of(part) == callee
        ]
        calls = [
            call
            for call in here
            if isinstance(call, ast.Call)
            and names.may_be_network(call)
            and (callee or not defined(call))
        ]
        # What is given the answer of another one is what works on it.
        inner = [call for call in calls if not any(_is_within(other, call) for other in calls)]
        asked: list[ast.expr] = [*found] or [call.func for call in inner]
        owners = {names.owner(call) for call in asked} | {ast.unparse(call) for call in asked}
        return cls(
            statements=frozenset(map(id, nodes)),
            name=callee if found else "",
            owners=frozenset(owners - {""}),
            calls=frozenset() if found else frozenset(map(id, inner)),
        )


def _is_within(call: ast.Call, outer: ast.Call) -> bool:
    return call is not outer and any(node is call for node in ast.walk(outer))


def last_name_of(part: ast.AST) -> str:
    """``get`` of ``policy.get``; of an imported name its own."""
    if isinstance(part, ast.Attribute):
        return part.attr
    return stands_for(part).rpartition(".")[2] if isinstance(part, ast.Name) else ""
