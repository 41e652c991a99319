"""Parts of a syntax tree: the calls and names in it, its lines, what a call is given, and what is assigned."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple, TypeVar

_Written = TypeVar("_Written", bound=ast.expr)


def nodes_in(*parts: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts and all that is in them."""
    for part in parts:
        yield from ast.walk(part)


def calls_in(*parts: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls anywhere in the parts."""
    return (node for node in nodes_in(*parts) if isinstance(node, ast.Call))


def names_in(*parts: ast.AST) -> set[str]:
    """The plain variables, functions and modules named anywhere in the parts."""
    return {node.id for node in nodes_in(*parts) if isinstance(node, ast.Name)}


def given_to(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, by place or by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def given_by_name(call: ast.Call, name: str) -> list[ast.expr]:
    """Return what a call is given under that name; empty where it is given nothing."""
    return [keyword.value for keyword in call.keywords if keyword.arg == name]


def items_of(node: ast.expr) -> list[ast.expr]:
    """The elements of a tuple that is written out; of anything else, itself."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def mapped(node: ast.AST) -> ast.GeneratorExp | None:
    """Return the loop that a ``map`` is: ``(act(item) for item in observations)`` for ``map(act, observations)``; None for anything else."""
    match node:
        case ast.Call(func=ast.Name("map"), args=[function, *gone_through]) if gone_through:
            pass
        case _:
            return None
    names = [ast.Name(f"item{number}", ast.Store()) for number in range(len(gone_through))]
    target: ast.expr = names[0] if len(names) == 1 else ast.Tuple(list(names), ast.Store())
    through = gone_through[0]
    if len(names) > 1:
        through = ast.Call(ast.Name("zip", ast.Load()), gone_through, [])
    made: ast.expr = ast.Call(function, [ast.Name(name.id, ast.Load()) for name in names], [])
    if isinstance(function, ast.Lambda):
        made = function.body
        given = [ast.Name(name, ast.Store()) for name in arguments_of(function)]
        target = given[0] if len(given) == 1 else ast.Tuple([*given], ast.Store())
    else:
        ast.copy_location(made, node)
    loop = ast.GeneratorExp(made, [ast.comprehension(target, through, [], 0)])
    return ast.fix_missing_locations(ast.copy_location(loop, node))


def made_each_turn(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> list[ast.expr]:
    """Return the items that a comprehension makes in each turn: of a dictionary, a key and a value."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def owner_of(call: ast.Call) -> list[ast.expr]:
    """The one whose method is called: ``x`` of ``x.mean()``; empty for a plain function."""
    return [call.func.value] if isinstance(call.func, ast.Attribute) else []


def lines_of(node: ast.stmt | ast.expr) -> range:
    """All lines of a node: of a compound statement with its body."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


class Assigned(NamedTuple):
    """One target with its value."""

    target: ast.expr
    value: ast.expr
    is_unpacked: bool
    """True if the target gets a part of the value, and the source does not show which: ``a`` in ``a, b = pair``."""


def targets_of(node: ast.AST) -> list[ast.expr]:
    """The targets of an assignment, annotated or not; none of anything else."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def assigned(node: ast.AST) -> Iterator[Assigned]:
    """Yield what an assignment assigns, annotated or not; nothing for an annotation without a value."""
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for target in targets_of(node):
            yield from unpacked(target, node.value)


def assigned_to(name: str, nodes: Iterable[ast.AST]) -> Iterator[Assigned]:
    """Yield what the assignments among ``nodes`` give a variable."""
    for node in nodes:
        for each in assigned(node):
            if isinstance(each.target, ast.Name) and each.target.id == name:
                yield each


def declared_elsewhere(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the variables that ``nodes`` declare to be none of the function's own: ``global`` and ``nonlocal``."""
    return {
        name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    }


def first_name(expression: ast.expr) -> ast.Name | None:
    """Return the variable that an expression begins with: ``self`` of ``self.heads[0].value(h)``."""
    while isinstance(expression, ast.Attribute | ast.Subscript | ast.Call):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression if isinstance(expression, ast.Name) else None


def reads_of(name: str, nodes: Iterable[ast.AST]) -> list[ast.Name]:
    """Return those of ``nodes`` that read a variable."""
    return _uses(name, nodes, ast.Load)


def stores_of(name: str, nodes: Iterable[ast.AST]) -> list[ast.Name]:
    """Return those of ``nodes`` that give a variable a value."""
    return _uses(name, nodes, ast.Store)


def _uses(name: str, nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> list[ast.Name]:
    return [
        node
        for node in nodes
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, context)
    ]


def unpacked(target: ast.expr, value: ast.expr) -> Iterator[Assigned]:
    """Yield the single targets: ``a`` with ``1`` and ``b`` with ``2`` for ``a, b = 1, 2``, both with ``pair`` for ``a, b = pair``."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield Assigned(target, value, is_unpacked=False)
    elif isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        for part, given in zip(target.elts, value.elts, strict=True):
            yield from unpacked(part, given)
    else:
        for part in single_targets(target):
            yield Assigned(part, value, is_unpacked=True)


def single_targets(*targets: ast.expr) -> Iterator[ast.expr]:
    """Yield ``a``, ``b`` and ``c`` of ``a, (b, c)``."""
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from single_targets(*target.elts)
        else:
            yield target


def parts_alike(target: ast.expr, value: ast.expr) -> Sequence[ast.expr] | None:
    """The parts of ``value`` that each part of ``target`` gets."""
    both = (target, value)
    if not all(isinstance(side, ast.Tuple | ast.List) for side in both):
        return None
    targets, parts = (side.elts for side in both if isinstance(side, ast.Tuple | ast.List))
    if len(targets) != len(parts) or any(
        isinstance(part, ast.Starred) for part in (*targets, *parts)
    ):
        return None
    return parts


def mentions(expression: ast.AST, text: str) -> bool:
    """Tell whether an expression, or a part of it, is written so."""
    return any(
        isinstance(part, ast.expr) and ast.unparse(part) == text for part in ast.walk(expression)
    )


def is_off(value: ast.expr | None) -> bool:
    """Tell whether it is written as nothing, zero or False."""
    return isinstance(value, ast.Constant) and not value.value


def own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement: of a compound one, those of its header."""
    for _, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                yield part
            elif isinstance(part, ast.withitem):
                yield part.context_expr


def arguments_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """The names of a function's parameters: those by position in their order first, ``*`` and ``**`` last."""
    given = node.args
    rest = (each.arg for each in (given.vararg, given.kwarg) if each is not None)
    return [*positional_of(node), *(each.arg for each in given.kwonlyargs), *rest]


def positional_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """The names of the parameters that a call may give by position, in their order."""
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args)]


def is_decorated(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    """Tell whether a function has the decorator ``name`` of Python's own."""
    return any(isinstance(each, ast.Name) and each.id == name for each in node.decorator_list)


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of parameters, by the name of those that have one."""
    positional = [*arguments.posonlyargs, *arguments.args]
    last = zip(reversed(positional), reversed(arguments.defaults), strict=False)
    by_keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {each.arg: value for each, value in (*last, *by_keyword) if value is not None}


def with_variables(expression: _Written, values: Mapping[str, ast.expr]) -> _Written:
    """Return a copy of ``expression`` with ``values`` in place of the variables of these names."""
    written: _Written = _Replacing(values).visit(deepcopy(expression))
    return written


class _Replacing(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return deepcopy(self._values.get(node.id, node))


def without_index(expression: ast.expr) -> ast.expr:
    """``h`` of ``h[i][j]``: what is read or written to, not by which number."""
    while isinstance(expression, ast.Subscript):
        expression = expression.value
    return expression


def operands_of(expression: ast.expr, operator: type[ast.operator]) -> Iterator[ast.expr]:
    """Yield the operands of a chain of one operator: ``a``, ``b`` and ``c`` of ``a * b * c`` for ``ast.Mult``; any other expression itself."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, operator):
        yield from operands_of(expression.left, operator)
        yield from operands_of(expression.right, operator)
    else:
        yield expression
