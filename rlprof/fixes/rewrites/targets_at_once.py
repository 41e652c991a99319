"""Move all parameters of a target network by one call."""

from __future__ import annotations

import ast
from typing import Final, NamedTuple

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Place, Rewriting
from rlprof.fixes.source_tree import SourceTree, rewritten

_UNREAD: Final = CannotFixError(
    "its loop does not move the parameters in one of the usual ways (copy_, lerp_, mul_ and add_)"
)


class _Names:
    """Names of the two parameters in what is compared: none that programs have."""

    target: Final = "_rlprof_target"
    source: Final = "_rlprof_source"


class _Move(NamedTuple):
    function: str
    target: ast.expr
    source: ast.expr
    weight: str = ""


def _rewrite(case: Case) -> Rewriting:
    return rewritten(case, _change)


def _change(tree: SourceTree, place: Place) -> None:
    loop = tree.statement(place.line)
    while not isinstance(loop, cst.For):
        above = tree.parent(loop)
        if isinstance(above, cst.Module | cst.FunctionDef | cst.ClassDef):
            raise CannotFixError("its line is in no loop over parameters")
        loop = above  # type: ignore[assignment]  # any node until it is a loop
    if tree.is_changed(loop):
        return
    if loop.asynchronous or loop.orelse:
        raise _UNREAD
    node = next(
        each
        for each in ast.walk(tree.names.tree)
        if isinstance(each, ast.For) and each.lineno == tree.lines(loop).start
    )
    call = _as_call(_move(node), tree.name_of("torch", "torch"))
    is_in_block = any(_is_no_grad(tree, above) for above in tree.above(loop))
    comments = _comments(loop)
    indent = tree.indent_around(loop)

    def change(updated: cst.For) -> cst.BaseStatement:
        head = f"with {tree.name_of('torch', 'torch')}.no_grad():\n    {call}\n"
        made = cst.parse_statement(
            f"{call}\n" if is_in_block else head, config=tree.module.config_for_parsing
        )
        above = [*updated.leading_lines, *comments]
        if not is_in_block:
            inner = made.body.with_changes(indent=indent)  # type: ignore[union-attr]  # it was parsed from a loop
            made = made.with_changes(body=inner)
        return made.with_changes(leading_lines=above)

    tree.replace(loop, change)


def _is_no_grad(tree: SourceTree, node: cst.CSTNode) -> bool:
    match node:
        case cst.With(items=items):
            return any(tree.code(item.item).endswith(".no_grad()") for item in items)
        case cst.FunctionDef(decorators=decorators):
            return any(tree.code(each.decorator).endswith("no_grad()") for each in decorators)
    return False


def _comments(loop: cst.For) -> list[cst.EmptyLine]:
    """The comments within the loop, which go above what takes its place."""

    def inside(node: cst.CSTNode) -> list[cst.Comment]:
        if isinstance(node, cst.Comment):
            return [node]
        return [comment for child in node.children for comment in inside(child)]

    above = {id(comment) for line in loop.leading_lines for comment in inside(line)}
    return [cst.EmptyLine(comment=each) for each in inside(loop) if id(each) not in above]


def _as_call(move: _Move, torch: str) -> str:
    lists = ", ".join(f"list({ast.unparse(each)})" for each in (move.target, move.source))
    return f"{torch}.{move.function}({lists}{f', {move.weight}' if move.weight else ''})"


def _move(loop: ast.For) -> _Move:
    """Return how a loop moves parameters. Raise :class:`CannotFixError` where it is not as simple as that."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
            iter=ast.Call(
                func=ast.Name(id="zip"),
                args=[ast.Call(func=ast.Attribute(attr="parameters"), args=[]) as one,
                      ast.Call(func=ast.Attribute(attr="parameters"), args=[]) as other],
            ),
        ):  # fmt: skip
            lists = {first: one, second: other}
        case _:
            raise _UNREAD
    target, source, function, weight = _moved(loop.body, first, second)
    names = {name.id for name in ast.walk(ast.parse(weight)) if isinstance(name, ast.Name)}
    if names & {first, second, _Names.target, _Names.source}:
        raise _UNREAD
    return _Move(function, lists[target], lists[source], weight)


def _moved(body: list[ast.stmt], first: str, second: str) -> tuple[str, str, str, str]:
    """Return names of target and source, and the function that does what ``body`` does, with its weight."""
    for target, source in ((first, second), (second, first)):
        texts = [_plain(statement, target, source) for statement in body]
        found = None if None in texts else _function([text for text in texts if text])
        if found is not None:
            return target, source, *found
    raise _UNREAD


def _plain(statement: ast.stmt, target: str, source: str) -> ast.expr | None:
    """Return what a statement computes, with names of ours for the two parameters and without ``data``; None where it moves neither."""
    match statement:
        case ast.Expr(value=value):
            pass
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr="data")], value=given) if (
            name == target
        ):  # fmt: skip
            value = ast.Call(ast.Attribute(ast.Name(_Names.target), "copy_"), [given], [])
        case _:
            return None

    class Renamed(ast.NodeTransformer):
        def _visited(self, node: ast.expr) -> ast.AST:
            changed: ast.AST = self.visit(node)
            return changed

        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            if node.attr == "data":
                return self._visited(node.value)
            return self.generic_visit(node)

        def visit_Call(self, node: ast.Call) -> ast.AST:
            match node:
                case ast.Call(func=ast.Attribute(value=of, attr="detach"), args=[], keywords=[]):
                    return self._visited(of)
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Name({target: _Names.target, source: _Names.source}.get(node.id, node.id))

    copied = ast.parse(ast.unparse(ast.Expression(value)), mode="eval").body
    return Renamed().visit(copied)  # type: ignore[no-any-return]  # visit() returns Any


def _function(texts: list[ast.expr]) -> tuple[str, str] | None:
    match texts:
        case [
            ast.Call(
                func=ast.Attribute(value=ast.Name(id=_Names.target), attr="copy_"),
                args=[given],
                keywords=[],
            )
        ]:
            if _is(given, _Names.source):
                return "_foreach_copy_", ""
            weight = _mixed(given)
            return None if weight is None else ("_foreach_lerp_", weight)
        case [
            ast.Call(
                func=ast.Attribute(value=ast.Name(id=_Names.target), attr="lerp_"),
                args=[ast.Name(id=_Names.source), weight_],
                keywords=[],
            )
        ]:
            return "_foreach_lerp_", ast.unparse(weight_)
        case [
            ast.Call(
                func=ast.Attribute(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=_Names.target), attr="mul_")
                    ) as mul,
                    attr="add_",
                )
            ) as add
        ]:
            return _of_two(mul, add)
        case [
            ast.Call(func=ast.Attribute(value=ast.Name(id=_Names.target), attr="mul_")) as mul,
            ast.Call(func=ast.Attribute(value=ast.Name(id=_Names.target), attr="add_")) as add,
        ]:
            return _of_two(mul, add)
    return None  # fmt: skip


def _of_two(mul: ast.Call, add: ast.Call) -> tuple[str, str] | None:
    if len(mul.args) != 1 or mul.keywords or len(add.args) != 1:
        return None
    kept = ast.unparse(mul.args[0])
    match add:
        case ast.Call(
            args=[ast.Name(id=_Names.source)], keywords=[ast.keyword(arg="alpha", value=alpha)]
        ):
            weight = ast.unparse(alpha)
        case ast.Call(args=[product], keywords=[]):
            found = _times(product, _Names.source)
            if found is None:
                return None
            weight = found
        case _:
            return None
    return ("_foreach_lerp_", weight) if _add_up(kept, weight) else None


def _mixed(given: ast.expr) -> str | None:
    """Return ``w`` of ``w * S + (1 - w) * T``."""
    match given:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for one, other in ((left, right), (right, left)):
                moved, kept = _times(one, _Names.source), _times(other, _Names.target)
                if moved is not None and kept is not None and _add_up(kept, moved):
                    return moved
    return None


def _times(product: ast.expr, name: str) -> str | None:
    match product:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            if _is(left, name):
                return ast.unparse(right)
            if _is(right, name):
                return ast.unparse(left)
    return None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _add_up(one: str, other: str) -> bool:
    """Tell whether one weight is written as what the other leaves of 1."""
    numbers = []
    for text in (one, other):
        try:
            numbers.append(float(text))
        except ValueError:
            break
    if len(numbers) == 2:
        return abs(sum(numbers) - 1) < 1e-12
    written = {
        ast.unparse(ast.parse(f"{sign} - ({each})")) for each in (other,) for sign in ("1", "1.0")
    }
    turned = {
        ast.unparse(ast.parse(f"{sign} - ({each})")) for each in (one,) for sign in ("1", "1.0")
    }
    return one in written or other in turned


FIX: Final = Fix(
    id="targets-at-once",
    does="moves all parameters of the target network by one call",
    findings=frozenset({"target-update-per-parameter"}),
    rewrite=_rewrite,
    remark="The numbers are the same but for rounding. It needs torch 2.1 or later.",
)
