"""Take ``gc.collect()`` out of the loop, or freeze what set-up has made before the loop begins."""

from __future__ import annotations

import ast
from typing import Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Place, Rewriting
from rlprof.fixes.source_tree import Line, SourceTree, rewritten
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import Function, called_name

_THRESHOLDS: Final = "50_000, 20, 100"


def _rewrite(case: Case) -> Rewriting:
    return rewritten(case, _change)


def _change(tree: SourceTree, place: Place) -> None:
    statement = tree.statement(place.line)
    asks = [
        call
        for call in tree.calls(statement)
        if full_name(tree.expression(call.func), tree.names.imports) == "gc.collect"
    ]
    if asks:
        _take_out(tree, tree.simple_statement(place.line), asks[0])
    else:
        _freeze_before(tree, _loop_around(tree, statement))


def _take_out(tree: SourceTree, statement: cst.SimpleStatementLine, call: cst.Call) -> None:
    own = statement.body[0]
    if not isinstance(own, cst.Expr) or own.value is not call:
        raise CannotFixError("what gc.collect() gives is used on its line")
    if tree.has_comments(statement):
        raise CannotFixError("a comment tells of gc.collect() there: take both out")
    block = tree.parent(statement)
    assert isinstance(block, cst.IndentedBlock | cst.Module)
    if len(block.body) > 1:
        tree.replace(statement, lambda _: cst.RemovalSentinel.REMOVE)
    else:
        tree.replace(own, lambda _: cst.Pass())


def _freeze_before(tree: SourceTree, loop: Line) -> None:
    if tree.is_changed(loop):
        return
    if "gc.freeze" in tree.text or "set_threshold" in tree.text:
        raise CannotFixError("its file sets the collector already")
    gc = tree.name_of("gc", "gc")
    tree.put_before(loop, f"{gc}.freeze()", f"{gc}.set_threshold({_THRESHOLDS})")


def _loop_around(tree: SourceTree, statement: Line) -> Line:
    """The outermost loop around a line. Raise :class:`CannotFixError` where it may be come to more than once."""
    loops = [
        node
        for node in (statement, *tree.above(statement))
        if isinstance(node, cst.For | cst.While | cst.FunctionDef | cst.ClassDef)
    ]
    found: Line | None = None
    for node in loops:
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            break
        found = node
    if found is None:
        raise CannotFixError("no loop of its function is around its line")
    function = tree.names.function_at(tree.lines(found).start)
    if function is not None and not _runs_once(tree, function):
        raise CannotFixError(f"{function.qualname} may run more than once")
    return found


def _runs_once(tree: SourceTree, function: Function) -> bool:
    """Tell whether the file calls a function at one place of its own level alone, outside of loops."""
    name = function.node.name
    if function.qualname != name or function.node.decorator_list:
        return False
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree.names.tree))
    calls = [
        statement
        for statement in tree.names.statements
        for node in statement.walk()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if called_name(node) == name
    ]
    return (
        uses == len(calls) == 1
        and not calls[0].in_loop
        and (calls[0].function is None or _runs_once(tree, calls[0].function))
    )


FIX: Final = Fix(
    id="fewer-collections",
    does="takes gc.collect() out of the loop, or has the collector leave alone what set-up made",
    findings=frozenset({"gc-pressure"}),
    rewrite=_rewrite,
    reads_functions=True,
    remark="Results stay; memory is given back later.",
)
