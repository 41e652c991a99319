"""Step the environments in the training's own process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

import libcst as cst

from rlprof.fixes.base import CannotFixError, Case, Fix, Rewriting
from rlprof.fixes.source_tree import SourceTree
from rlprof.syntax.imports import full_name


class _Kind(NamedTuple):
    packages: tuple[str, ...]
    in_process: str
    options: frozenset[str]
    """Keywords that both take."""


_KINDS: Final = {
    "AsyncVectorEnv": _Kind(
        ("gymnasium.vector", "gym.vector", "gymnasium.vector.async_vector_env"),
        "SyncVectorEnv",
        frozenset({"env_fns", "copy", "observation_mode", "autoreset_mode"}),
    ),
    "SubprocVecEnv": _Kind(
        (
            "stable_baselines3.common.vec_env",
            "stable_baselines3.common.vec_env.subproc_vec_env",
        ),
        "DummyVecEnv",
        frozenset({"env_fns"}),
    ),
}
_ASKS: Final = "vec_env_cls"

_MAKES: Final = frozenset({"gymnasium.make_vec", "gym.make_vec"})
_BY_MODE: Final = _Kind((), "sync", frozenset())
_MODE: Final = "vectorization_mode"


class _Use(NamedTuple):
    node: cst.Call
    name: cst.BaseExpression
    """The class, as it is called or handed on."""
    kind: _Kind


def _rewrite(case: Case) -> Rewriting:
    if "in one process" not in case.finding.fix:
        raise CannotFixError("fewer workers would be best, and how many is for you to choose")
    trees = {
        file: SourceTree(text)
        for file, text in case.texts.items()
        if any(name in text for name in (*_KINDS, _MODE))
    }
    uses = [(file, use) for file, tree in trees.items() for use in _uses(tree)]
    if len(uses) != 1:
        many = "several" if uses else "none"
        raise CannotFixError(f"your files make {many} of the vector environments that it knows")
    (file, use), *_ = uses
    _change(trees[file], use)
    return Rewriting({file: trees[file].changed})


def _uses(tree: SourceTree) -> Iterator[_Use]:
    for call in tree.nodes(cst.Call):
        if (kind := _kind(tree, call.func)) is not None:
            yield _Use(call, call.func, kind)
        for argument in call.args:
            if (
                argument.keyword
                and argument.keyword.value == _MODE
                and _is_async(tree, call, argument)
            ):
                yield _Use(call, argument.value, _BY_MODE)
            if argument.keyword and argument.keyword.value == _ASKS:
                kind = _kind(tree, argument.value)
                if kind is not None:
                    yield _Use(call, argument.value, kind)


def _is_async(tree: SourceTree, call: cst.Call, mode: cst.Arg) -> bool:
    makes = full_name(tree.expression(call.func), tree.names.imports) in _MAKES
    return makes and tree.written(mode.value) == "'async'"


def _kind(tree: SourceTree, node: cst.BaseExpression) -> _Kind | None:
    package, _, name = full_name(tree.expression(node), tree.names.imports).rpartition(".")
    kind = _KINDS.get(name)
    return kind if kind is not None and package in kind.packages else None


def _change(tree: SourceTree, use: _Use) -> None:
    _check_options(use)
    match use.name:
        case cst.SimpleString():
            tree.replace(
                use.name,
                lambda updated: updated.with_changes(value=updated.value.replace("async", "sync")),
            )
        case cst.Attribute():
            tree.replace(
                use.name, lambda updated: updated.with_changes(attr=cst.Name(use.kind.in_process))
            )
        case cst.Name(name):
            tree.replace(use.name, lambda updated: updated.with_changes(value=use.kind.in_process))
            _import_other(tree, name, use.kind.in_process)
        case _:
            raise CannotFixError("its vector environment is made by no plain name")


def _check_options(use: _Use) -> None:
    if any(argument.star for argument in use.node.args):
        raise CannotFixError("options of its vector environment are handed on by stars")
    given = {argument.keyword.value for argument in use.node.args if argument.keyword}
    if use.name is not use.node.func:
        more = given & {"vec_env_kwargs", "vector_kwargs"}
    else:
        more = given - use.kind.options
        if sum(argument.keyword is None for argument in use.node.args) > 1:
            raise CannotFixError("its vector environment is given options without their names")
    if more:
        raise CannotFixError(f"{min(more)} is given, which the other kind may not take")


def _import_other(tree: SourceTree, name: str, other: str) -> None:
    """Have the class imported whose name takes the place of ``name``, which goes where nothing else uses it."""
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree.names.tree))
    for statement in tree.nodes(cst.ImportFrom):
        if isinstance(statement.names, cst.ImportStar):
            continue
        for alias in statement.names:
            if alias.asname is not None or alias.name.value != name:
                continue
            full = f"{tree.code(statement.module)}.{other}" if statement.module else ""
            has_other = tree.names.imports.get(other) == full
            if uses > 1 or has_other:
                if not has_other:
                    tree.need_import(full.rpartition(".")[0], other)
            else:
                tree.replace(alias, lambda updated: updated.with_changes(name=cst.Name(other)))
            return
    raise CannotFixError(f"{name} is imported under another name")


FIX: Final = Fix(
    id="environments-in-process",
    does="steps the environments in the training's own process",
    findings=frozenset({"ipc-per-step"}),
    rewrite=_rewrite,
    remark="Environments that draw from Python's or numpy's global generator then share one: their episodes differ.",
)
