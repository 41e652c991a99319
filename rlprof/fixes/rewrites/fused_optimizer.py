"""Make an optimizer with ``fused=True``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Rewriting
from rlprof.fixes.source_tree import SourceTree
from rlprof.syntax.imports import full_name, own_name
from rlprof.syntax.module import parse

_OPTIMIZERS: Final = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
_AGAINST: Final = frozenset({"fused", "foreach", "differentiable"})


def _rewrite(case: Case) -> Rewriting:
    trees = {file: SourceTree(text) for file, text in case.texts.items() if _may_make(text)}
    seen = _seen_classes(case)
    made = [
        (file, call)
        for file, tree in trees.items()
        for call in _made(tree)
        if not seen or _last_name(tree, call.func) in seen
    ]
    stepped = _stepped(case)
    named = [(file, call) for file, call in made if stepped & _targets(trees[file], call)]
    chosen = named or made
    if not chosen:
        raise CannotFixError("no file of yours makes an optimizer by its name")
    if not named and len(made) > 1:
        raise CannotFixError("several optimizers are made, and which of them this is was not seen")
    for file, call in chosen:
        _change(trees[file], call)
    return Rewriting({file: trees[file].changed for file in {file for file, _ in chosen}})


def _may_make(text: str) -> bool:
    return "torch" in text and any(f"{name}(" in text for name in _OPTIMIZERS)


def _made(tree: SourceTree) -> Iterator[cst.Call]:
    for call in tree.nodes(cst.Call):
        name = full_name(tree.expression(call.func), tree.names.imports)
        package, _, last = name.rpartition(".")
        if last in _OPTIMIZERS and package.startswith("torch.optim"):
            yield call


def _stepped(case: Case) -> set[str]:
    """Names of the variables and attributes whose ``step`` is called at the lines."""
    found = set()
    for place in case.places:
        module = parse(case.texts[place.file])
        statement = module.statement_at(place.line) if module else None
        for node in statement.walk() if statement else ():
            match node:
                case ast.Call(func=ast.Attribute(value=receiver, attr="step")):
                    found.add(own_name(receiver))
    return found - {""}


def _seen_classes(case: Case) -> set[str]:
    """Names of the classes of optimizers that were seen at the lines."""
    types = {
        name for place in case.places for value in place.known.values() for name in value.types
    }
    return {name.rpartition(".")[2] for name in types if name.startswith("torch.optim.")}


def _last_name(tree: SourceTree, node: cst.BaseExpression) -> str:
    return full_name(tree.expression(node), tree.names.imports).rpartition(".")[2]


def _targets(tree: SourceTree, call: cst.Call) -> set[str]:
    """Names of what a call's result is assigned to."""
    match tree.parent(call):
        case cst.Assign(targets=targets):
            return {own_name(tree.expression(each.target)) for each in targets}
        case cst.AnnAssign(target=target):
            return {own_name(tree.expression(target))}
    return set()


def _change(tree: SourceTree, call: cst.Call) -> None:
    given: Mapping[str, cst.Arg] = {arg.keyword.value: arg for arg in call.args if arg.keyword}
    if any(argument.star for argument in call.args):
        raise CannotFixError("options of its optimizer are handed on by stars")
    if against := sorted(_AGAINST & given.keys()):
        raise CannotFixError(f"{against[0]} is given to its optimizer already")
    if not call.args:
        raise CannotFixError("its optimizer is given nothing")
    fused = cst.Arg(
        cst.Name("True"),
        keyword=cst.Name("fused"),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )

    tree.replace(call, lambda updated: _with(updated, fused))


def _with(call: cst.Call, added: cst.Arg) -> cst.Call:
    """Return a call with one more argument, on a line of its own where the others are."""
    *others, last = call.args
    if isinstance(last.comma, cst.Comma):
        between, end = _parted(call, last.comma.whitespace_after)
        comma = last.comma.with_changes(whitespace_after=between)
        new = added.with_changes(comma=last.comma.with_changes(whitespace_after=end))
        return call.with_changes(args=[*others, last.with_changes(comma=comma), new])
    between, end = _parted(call, last.whitespace_after_arg)
    last = last.with_changes(
        comma=cst.Comma(whitespace_after=between), whitespace_after_arg=cst.SimpleWhitespace("")
    )
    return call.with_changes(args=[*others, last, added.with_changes(whitespace_after_arg=end)])


def _parted(
    call: cst.Call, after: cst.BaseParenthesizableWhitespace
) -> tuple[cst.BaseParenthesizableWhitespace, cst.BaseParenthesizableWhitespace]:
    """Return what comes between the last argument and a new one, and what after that. A comment stays with the last."""
    before = call.whitespace_before_args
    if not isinstance(after, cst.ParenthesizedWhitespace):
        return cst.SimpleWhitespace(" "), after
    newline = after.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    end = after.with_changes(first_line=newline, empty_lines=())
    if not isinstance(before, cst.ParenthesizedWhitespace):
        return cst.SimpleWhitespace(" "), after
    between = after.with_changes(indent=before.indent, last_line=before.last_line)
    return between, end


FIX: Final = Fix(
    id="fused-optimizer",
    does="makes the optimizer with fused=True",
    findings=frozenset({"optimizer-not-fused"}),
    rewrite=_rewrite,
    remark="The numbers are the same but for rounding where gradients are dense and lie in memory as their parameters do, as those of "
    "backward() do; sparse ones are an error, and ones that you set by hand may be taken wrongly. On the CPU it needs torch 2.4 or later.",
)
