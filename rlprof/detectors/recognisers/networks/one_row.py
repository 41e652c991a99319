"""Lines that ask a network for one row, as values tell, and those that work on its answer."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from rlprof.detectors.recognisers.networks.env_loops import TENSOR_MODULES
from rlprof.model.calltree import CallTree
from rlprof.source.lines import UserLines, begins_process
from rlprof.source.value import Value
from rlprof.source.values import Values, asked_network, value_of
from rlprof.syntax.imports import root_name
from rlprof.syntax.module import Statement, variables_assigned, variables_read


class OneRow:
    """The nodes of a tree in or below which that happens; they are looked for when one is first asked about."""

    def __init__(self, tree: CallTree, lines: UserLines, values: Values) -> None:
        self._tree = tree
        self._lines = lines
        self._values = values

    def is_asked(self, node: int) -> bool:
        """Tell whether ``node``, or what is called there, asks a network for one row, as its values tell, or works on the answer."""
        return node in self._nodes

    @cached_property
    def _nodes(self) -> frozenset[int]:
        hot = list(self._tree.hot_nodes())
        asking = list(filter(self._asks, hot))
        answers = self._answers(asking)
        taking = (node for node in hot if self._works_on(answers, node))
        return frozenset(above for below in (*asking, *taking) for above in self._way_up(below))

    def _way_up(self, node: int) -> Iterator[int]:
        """Yield ``node`` and those above it, as far as its process goes: the loop that forked it does not ask."""
        for above in (node, *self._tree.ancestors(node)):
            if begins_process(self._tree.frame(above)):
                return
            yield above

    def _answers(self, asking: Iterable[int]) -> Mapping[tuple[str, str], set[str]]:
        """The variables that hold what a network answered for one row, or what is made of it, by file and function."""
        answers: dict[tuple[str, str], set[str]] = defaultdict(set)
        for node in asking:
            frame = self._tree.frame(node)
            module = self._lines.module(frame.file)
            for statement in self._lines.statements(frame):
                names = answers[frame.file, frame.function]
                names |= variables_assigned(*statement.expressions())
                for each in module.of_function(statement.function) if module and names else ():
                    if each.first_line > statement.first_line:
                        names |= (
                            variables_assigned(*each.expressions())
                            if names & variables_read(*each.expressions())
                            else set()
                        )
        return answers

    def _works_on(self, answers: Mapping[tuple[str, str], set[str]], node: int) -> bool:
        frame = self._tree.frame(node)
        names = answers.get((frame.file, frame.function))
        statement = self._lines.statement(frame) if names else None
        if not names or statement is None or not names & variables_read(*statement.expressions()):
            return False
        return works_on_tensors(self._lines, node)

    def _asks(self, node: int) -> bool:
        frame = self._tree.frame(node)
        return any(
            _is_asked_one_row(call, self._values.of(frame.file, statement), statement)
            for statement in (self._lines.statements(frame) if self._values.has(frame.file) else ())
            for call in statement.calls()
        )


def works_on_tensors(lines: UserLines, node: int) -> bool:
    """Tell whether the user's line at ``node`` multiplies matrices or calls a tensor library."""
    frame = lines.tree.frame(node)
    statement = lines.statement(frame) if lines.is_yours(frame) else None
    return statement is not None and any(
        (isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult))
        or (isinstance(part, ast.Call) and root_name(part.func) in TENSOR_MODULES)
        for part in statement.walk()
    )


def _is_asked_one_row(call: ast.Call, known: Mapping[str, Value], statement: Statement) -> bool:
    """Tell whether a network is given a tensor without a batch; one that is given its own answer cannot have one."""
    if asked_network(call, known) is None:
        return False
    written = {ast.unparse(target) for target in _targets(statement)}
    answer = _answer(call, known, statement)
    rows = [row for given in call.args if (row := _row(given, known, answer)) is not None]
    return bool(rows) and not any(ast.unparse(row) in written for row in rows)


def _row(given: ast.expr, known: Mapping[str, Value], answer: Value | None) -> ast.expr | None:
    """Return what ``given`` is made of, if that is one row: as it was seen, else by how the batch of one is made of it."""
    made_of, is_made_one = _made_of(given)
    value = value_of(made_of, known)
    if value is not None:
        return made_of if value.is_one_row else None
    if _is_row_of_a_table(made_of, known):
        return made_of
    # Of a sequence, or an image, the answer would have more than a row.
    is_row = is_made_one and (answer is None or answer.is_one_row)
    return made_of if is_row else None


def _is_row_of_a_table(given: ast.expr, known: Mapping[str, Value]) -> bool:
    """Tell ``observations[agent]``, of an array of two dimensions and a number."""
    if not isinstance(given, ast.Subscript) or not isinstance(given.slice, ast.Name):
        return False
    table, index = value_of(given.value, known), value_of(given.slice, known)
    is_number = index is None or index.type == "int"
    return table is not None and table.is_array and len(table.shape or ()) == 2 and is_number


def _answer(call: ast.Call, known: Mapping[str, Value], statement: Statement) -> Value | None:
    """Return what the network answered, where a variable holds it as it came."""
    assigned = _targets(statement) if getattr(statement.node, "value", None) is call else []
    return value_of(assigned[0], known) if len(assigned) == 1 else None


def _targets(statement: Statement) -> list[ast.expr]:
    return statement.node.targets if isinstance(statement.node, ast.Assign) else []


def _made_of(given: ast.expr) -> tuple[ast.expr, bool]:
    """Return what a tensor is made of that is given, and whether it is made a batch of one on the way:
    ``torch.from_numpy(row).float()[None]`` is a ``row`` still.
    """
    is_made_one = False
    while True:
        match given:
            case ast.List(elts=[first]):
                given, is_made_one = first, True
            case ast.Call(
                ast.Attribute(
                    attr="from_numpy" | "as_tensor" | "tensor" | "FloatTensor" | "Tensor"
                ),
                [first, *_],
            ):
                given = first
            case (
                ast.Call(ast.Attribute(attr="expand_dims"), [owner, ast.Constant(0)])
                | ast.Call(ast.Attribute(owner, "unsqueeze"), [ast.Constant(0)])
                | ast.Call(
                    ast.Attribute(owner, "unsqueeze"),
                    keywords=[ast.keyword("dim", ast.Constant(0))],
                )
                | ast.Call(
                    ast.Attribute(owner, "reshape" | "view"),
                    [ast.Constant(1), ast.UnaryOp(ast.USub(), ast.Constant(1))],
                )
                | ast.Subscript(owner, ast.Constant(None))
            ):
                given, is_made_one = owner, True
            case ast.Call(
                ast.Attribute(
                    owner, "float" | "double" | "to" | "unsqueeze" | "astype" | "cpu" | "cuda"
                )
            ):
                given = owner
            case _:
                return given, is_made_one
