"""Tell whether a line may run more often as the training goes on, so that more time at it does not mean that each run of it takes longer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rlprof.model.calltree import CallTree
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import UserLines, begins_process
from rlprof.syntax.ancestors import parents
from rlprof.syntax.module import SourceModule, Statement, called_name
from rlprof.syntax.nodes import calls_in, names_in, nodes_in, targets_of


def may_run_more_often(tree: CallTree, lines: UserLines, node: int) -> bool:
    """Tell whether ``node``, or a caller of it in the user's code, runs in some steps and not in others, and nothing says that as many do later as
    at first: a greedy choice as exploration ends, a reset as episodes get shorter.
    """
    while node != NO_PARENT:
        frame = tree.frame(node)
        if begins_process(frame):
            return False
        if lines.is_yours(frame) and _comes_and_goes(lines, frame):
            return True
        node = tree.nodes[node].parent
    return False


def _comes_and_goes(lines: UserLines, frame: Frame) -> bool:
    module = lines.module(frame.file)
    statements = lines.statements(frame)
    return module is not None and any(
        any(not _is_regular(test, module, statement) for test in _tests(module, statement))
        or _is_beside_a_loop(module, statement)
        for statement in statements
    )


def _tests(module: SourceModule, statement: Statement) -> Iterator[ast.expr]:
    """Yield what decides whether the statement, or a part of it, runs."""
    yield from statement.conditions
    yield from (part.test for part in statement.walk() if isinstance(part, ast.IfExp))
    above = parents(module)
    child: ast.AST = statement.node
    while (parent := above.get(child)) is not None:
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        if isinstance(parent, ast.If) and child in parent.orelse:
            yield parent.test
        child = parent


def _is_regular(test: ast.expr, module: SourceModule, statement: Statement) -> bool:
    """Tell whether a test holds in every n-th turn (``step % 4 == 0``), or from some turn on: numbers that nothing called in this function gives
    (``step > warm_up``), the length of something that is gathered.
    """
    if any(isinstance(part, ast.Mod) for part in nodes_in(test)):
        return True
    if any(called_name(call) != "len" for call in calls_in(test)):
        return False
    given = {
        name
        for each in module.of_function(statement.function)
        if any(each.calls())
        for target in targets_of(each.node)
        for name in names_in(target)
    }
    orders = ast.Lt | ast.LtE | ast.Gt | ast.GtE
    return not names_in(test) & given and any(isinstance(part, orders) for part in nodes_in(test))


def _is_beside_a_loop(module: SourceModule, statement: Statement) -> bool:
    """Tell whether the loop that runs the statement has another one in it, which takes as many turns as it needs: a reset before the steps of an
    episode.
    """
    loop = module.innermost_loop(statement.first_line)
    return loop is not None and any(
        isinstance(part, ast.While)
        or (isinstance(part, ast.For) and any(isinstance(end, ast.Break) for end in nodes_in(part)))
        for part in nodes_in(*loop.body)
        if part is not statement.node and part is not loop
    )
