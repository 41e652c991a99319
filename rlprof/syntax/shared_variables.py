"""Variables of a file that its functions share: what one changes, another one reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from rlprof.syntax.changed import chain, changed_in_place
from rlprof.syntax.module import FunctionNode, SourceModule, called_name, variables_assigned
from rlprof.syntax.nodes import arguments_of, calls_in, declared_elsewhere, names_in


def reads_what_others_change(
    module: SourceModule, given: Iterable[ast.AST], body: Iterable[ast.AST]
) -> bool:
    """Tell whether ``given``, or a function of the file that is called in it, reads a variable of the file that a function called in ``body``
    changes: ``conn.send(view())`` and ``play(conn.recv())`` of one board.
    """
    given = [*given]
    within = {call for part in given for call in calls_in(part)}
    others = [call for part in body for call in calls_in(part) if call not in within]
    changed = {name for node in _called(module, others) for name in _changed_outside(node)}
    read = names_in(*given, *_called(module, within))
    return not changed.isdisjoint(read)


def _called(module: SourceModule, calls: Iterable[ast.Call]) -> Iterator[FunctionNode]:
    names = {called_name(call) for call in calls}
    return (function.node for function in module.functions if function.node.name in names)


def _changed_outside(function: FunctionNode) -> Iterator[str]:
    """Yield the variables that a function changes, and that are none of its own."""
    nodes = [*ast.walk(function)]
    declared = declared_elsewhere(nodes)
    own = variables_assigned(*function.body) | {*arguments_of(function)}
    yield from declared & own
    for place in changed_in_place(nodes):
        root, _ = chain(place)
        if root is not None and root.id not in own - declared:
            yield root.id
