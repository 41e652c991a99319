"""Text that is made there and then: what makes it, and what is put into a variable or handed back and never read."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.syntax.module import Function, SourceModule, Statement, called_name, variables_read
from rlprof.syntax.nodes import declared_elsewhere, operands_of, reads_of

FORMATTERS: Final = frozenset(
    {"str", "repr", "ascii", "format", "join", "array2string", "array_repr", "array_str"}
    | {"dumps", "pformat", "tolist", "to_string", "tabulate"}
)
"""Calls that turn a value into text, or only prepare it for that."""


class UnreadText(NamedTuple):
    statement: Statement
    texts: tuple[ast.expr, ...]
    """Expressions that make them."""
    where: str
    """Holder of them, as a reader would say it."""


def unread_texts(modules: Mapping[str, SourceModule]) -> dict[str, list[UnreadText]]:
    """Those of each file of the run."""
    results = _Results(modules.values())
    return {file: list(_unread(module, results)) for file, module in modules.items()}


def _unread(module: SourceModule, results: _Results) -> Iterator[UnreadText]:
    for body in module.by_function():
        function = body[0].function
        if function is None:
            continue
        for statement in body:
            yield from _in_statement(function, body, statement, results)


def _in_statement(
    function: Function, body: Sequence[Statement], statement: Statement, results: _Results
) -> Iterator[UnreadText]:
    match statement.node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            texts = tuple(_texts(value, results))
            if texts and _is_left(name, function, body, results):
                yield UnreadText(statement, texts, name)
        case ast.Return(value=ast.expr() as value):
            for position, part, count in _parts(value):
                texts = tuple(_texts(part, results)) if isinstance(part, ast.Dict) else ()
                if texts and results.are_dropped(function, position, count):
                    yield UnreadText(statement, texts, f"what {function.node.name} returns")


def _texts(value: ast.expr, results: _Results) -> Iterator[ast.expr]:
    """Yield the texts that a value, or a dictionary's values, are made of; of the latter those whose keys nobody names."""
    if not isinstance(value, ast.Dict):
        parts = [value]
    else:
        parts = [
            part
            for key, part in zip(value.keys, value.values, strict=True)
            if not (isinstance(key, ast.Constant) and key.value in results.named)
        ]
    yield from (part for part in parts if builds_text(part))


def _is_left(name: str, function: Function, body: Sequence[Statement], results: _Results) -> bool:
    """Tell whether the variable is never read, or only to be returned to callers that drop it."""
    reads = reads_of(name, ast.walk(function.node))
    if name in declared_elsewhere(statement.node for statement in body):
        return False
    returned = [
        (position, count)
        for statement in body
        if isinstance(statement.node, ast.Return) and statement.node.value is not None
        for position, part, count in _parts(statement.node.value)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return len(returned) == len(reads) and all(
        results.are_dropped(function, position, count) for position, count in returned
    )


def _parts(value: ast.expr) -> Iterator[tuple[int, ast.expr, int]]:
    """Yield what is returned, with its place in the tuple and the tuple's length; 0 where there is none."""
    if isinstance(value, ast.Tuple):
        yield from ((at, part, len(value.elts)) for at, part in enumerate(value.elts))
    else:
        yield 0, value, 0


class _Results:
    """Uses that the program's own calls make of results, by the name of what is called."""

    def __init__(self, modules: Iterable[SourceModule]) -> None:
        self._uses: dict[str, list[tuple[ast.expr | None, frozenset[str]]]] = defaultdict(list)
        """Targets that results are assigned to, None for a use of another kind; with the names that the caller reads."""
        self.named: set[object] = set()
        """Constants of the program, but for keys of dictionaries that it makes: a library may be given one, to read what is there."""
        for module in modules:
            self.named |= _constants(module.tree)
            for body in module.by_function():
                self._read(module, body)

    def _read(self, module: SourceModule, body: Sequence[Statement]) -> None:
        function = body[0].function
        read = frozenset(variables_read(function.node if function else module.tree))
        for statement in body:
            for call in statement.calls():
                self._uses[called_name(call)].append((_target(statement.node, call), read))

    def are_dropped(self, function: Function, position: int, count: int) -> bool:
        """Tell whether somebody calls the function, and nobody reads that part of its result."""
        uses = self._uses.get(function.node.name, ())
        return bool(uses) and all(_drops(target, read, position, count) for target, read in uses)


def _constants(tree: ast.AST) -> set[object]:
    keys = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in keys
    }


_NOWHERE: Final = ast.Constant(None)


def _target(node: ast.stmt, call: ast.Call) -> ast.expr | None:
    if isinstance(node, ast.Expr) and node.value is call:
        return _NOWHERE
    if isinstance(node, ast.Assign) and node.value is call and len(node.targets) == 1:
        return node.targets[0]
    return None


def _drops(target: ast.expr | None, read: frozenset[str], position: int, count: int) -> bool:
    if target is _NOWHERE:
        return True
    if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == count:
        target = target.elts[position]
    elif count:
        return False
    return isinstance(target, ast.Name) and target.id not in read


def is_eager_text(expression: ast.expr) -> bool:
    """Tell whether evaluating ``expression`` formats text there and then."""
    if isinstance(expression, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in expression.values)
    if isinstance(expression, ast.BinOp):
        if isinstance(expression.op, ast.Mod):
            return _is_text(expression.left)
        return isinstance(expression.op, ast.Add) and _is_concatenation(expression)
    if isinstance(expression, ast.IfExp):
        return is_eager_text(expression.body) or is_eager_text(expression.orelse)
    return isinstance(expression, ast.Call) and called_name(expression) in FORMATTERS


def builds_text(value: ast.expr | None) -> bool:
    """The same of a value with a list of texts, too."""
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return is_eager_text(value.elt)
    if isinstance(value, ast.List):
        return any(map(is_eager_text, value.elts))
    return value is not None and is_eager_text(value)


def _is_text(expression: ast.expr) -> bool:
    return isinstance(expression, ast.JoinedStr) or (
        isinstance(expression, ast.Constant) and isinstance(expression.value, str)
    )


def _is_concatenation(expression: ast.BinOp) -> bool:
    """Tell whether text is among the operands of a chain of ``+``, and not text alone."""
    operands = [*operands_of(expression, ast.Add)]
    constant = [isinstance(operand, ast.Constant) for operand in operands]
    return not all(constant) and any(
        _is_text(operand) or is_eager_text(operand) for operand in operands
    )
