"""What a turn of a loop may change: itself, and by all functions that it may call."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from rlprof.syntax.assignments import single_targets, targets_of
from rlprof.syntax.dependencies import arguments_of, assigned_in
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import (
    Comprehension,
    Function,
    SourceModule,
    Statement,
    called_name,
    receiver,
)
from rlprof.syntax.operands import Operand
from rlprof.syntax.pure_calls import is_computing_method, is_in_place
from rlprof.syntax.writes import changed_by

Turned = ast.For | Comprehension

_MOST_CALLED: Final = 80
"""Functions that a turn may call: of more nobody can tell what they change."""

_OTHERS_MAY_WRITE: Final = re.compile(
    r"threading|concurrent\.futures|multiprocessing\.(shared_memory|sharedctypes|Array|RawArray|Manager|pool\.ThreadPool)|mmap|"
    r".*\b(memmap|share_memory_|Array|RawArray|ThreadPoolExecutor|requires_grad_?)"
)
"""Where a file names one of these, threads, processes or an optimizer may write to what it reads, and no statement shows it."""

_WAITS: Final = re.compile(
    r"recv\w*|receive|all_\w+|broadcast\w*|poll|wait\w*|acquire|sleep|barrier|result|synchronize|starmap|imap\w*|apply_async|map_async|put|send\w*|get_nowait"
)
"""Methods by which others are let do their part."""


class TurnChanges:
    """Reads the files of one program."""

    def __init__(self, modules: Sequence[SourceModule]) -> None:
        self._functions: dict[str, list[tuple[SourceModule, Function]]] = {}
        self._attributes: set[str] = set()
        """Names of attributes that are assigned somewhere: what is called by such a name is no method."""
        self.others_may_write = any(map(_others_may_write, modules))
        """True if threads, other processes or optimizers may write to what a turn reads."""
        for module in modules:
            for function in module.functions:
                self._functions.setdefault(function.node.name, []).append((module, function))
            for statement in module.statements:
                for target in single_targets(*targets_of(statement.node)):
                    if isinstance(target, ast.Attribute):
                        self._attributes.add(target.attr)

    def attributes_read(self, function: Function) -> frozenset[str]:
        """Return the names of all attributes that a function reads, or one that it may call: of elements of its arguments, too."""
        bodies = [
            function.node,
            *(each.node for _, each in self._called(ast.walk(function.node)) or ()),
        ]
        nodes = [node for body in bodies for node in ast.walk(body)]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return frozenset(
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and id(node) not in called
        )

    def leaves(
        self,
        module: SourceModule,
        loop: Turned,
        operands: Collection[Operand],
        attributes: frozenset[str],
    ) -> bool:
        """Tell whether no turn of a loop of ``module`` changes any of ``operands``, as they are written in the loop's function, or an
        attribute of a name in ``attributes``.

        False where that cannot be known.
        """
        nodes = list(ast.walk(loop))
        if any(
            isinstance(it, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for it in nodes
        ):
            return False
        called = self._called(nodes)
        if called is None:
            return False
        own = _statements_in(module, loop)
        bodies = [_statements_of(each, function) for each, function in called]
        writers = self._writers(bodies, called)
        near = self._written(own, writers)
        far = {
            text
            for statements, (_, function) in zip(bodies, called, strict=True)
            for text in self._seen_outside(statements, function, writers)
        }
        variables = assigned_in(loop)
        written = frozenset(name for text in near | far for name in _parts(text)[1])
        return (
            written.isdisjoint(attributes)
            and not any(
                operand.steps[0] in variables
                or any(_touches(text, operand) for text in near)
                or any(_touches_afar(text, operand) for text in far)
                for operand in operands
            )
            and not self._is_unknown(nodes, bodies, called, operands)
        )

    def _called(self, nodes: Iterable[ast.AST]) -> list[tuple[SourceModule, Function]] | None:
        """Return the functions that may run, by all names that are read, and by what Python calls without a name; None if they are many."""
        found: dict[int, tuple[SourceModule, Function]] = {}
        names = [*_names_read(nodes), *filter(_is_called_unnamed, self._functions)]
        while names:
            for each in self._functions.get(names.pop(), ()):
                if id(each[1]) not in found:
                    found[id(each[1])] = each
                    names += _names_read(ast.walk(each[1].node))
            if len(found) > _MOST_CALLED:
                return None
        return list(found.values())

    def _writers(
        self,
        bodies: Sequence[Sequence[Statement]],
        called: Sequence[tuple[SourceModule, Function]],
    ) -> frozenset[str]:
        """Return the names of functions that write to what they are given, or hand it to one that does."""
        writers: frozenset[str] = frozenset()
        while True:
            found = frozenset(
                function.node.name
                for statements, (_, function) in zip(bodies, called, strict=True)
                if not _roots(self._written(statements, writers)).isdisjoint(_given(function))
            )
            if found <= writers:
                return writers
            writers |= found

    def _written(self, statements: Sequence[Statement], writers: Collection[str]) -> set[str]:
        nodes = [node for statement in statements for node in statement.walk()]
        return {
            *changed_by(statements, self._functions),
            *_assigned_attributes(statements),
            *_given_to(writers, nodes),
        }

    def _seen_outside(
        self, statements: Sequence[Statement], function: Function, writers: Collection[str]
    ) -> Iterator[str]:
        """Yield what a function changes beside its own variables: attributes of anything, and names of the file."""
        own = assigned_in(*function.node.body) | set(arguments_of(function.node))
        for statement in statements:
            if isinstance(statement.node, ast.Global | ast.Nonlocal):
                yield from statement.node.names
        for text in self._written(statements, writers):
            if "." in text or text not in own:
                yield text

    def _is_unknown(
        self,
        nodes: Iterable[ast.AST],
        bodies: Sequence[Sequence[Statement]],
        called: Sequence[tuple[SourceModule, Function]],
        operands: Collection[Operand],
    ) -> bool:
        """Tell whether a turn waits for others, or calls a method that was not read, of an object of which ``operands`` are parts."""
        owners = {text for operand in operands for text in _owners(operand)}
        if any(self._may_do_more(node, owners) for node in nodes):
            return True
        are_attributes = any(map(_attributes, operands))
        for statements, (_, function) in zip(bodies, called, strict=True):
            own = arguments_of(function.node)[:1] if function.class_name and are_attributes else ()
            if any(self._may_do_more(node, own) for each in statements for node in each.walk()):
                return True
        return False

    def _may_do_more(self, node: ast.AST, owners: Collection[str]) -> bool:
        if isinstance(node, ast.withitem):
            return not isinstance(node.context_expr, ast.Call)  # A lock: others write meanwhile.
        owner = receiver(node) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or owner is None:
            return False
        name = called_name(node)
        if _WAITS.fullmatch(name) or (name in ("get", "join", "read") and not node.args):
            return True
        is_known = (
            name in self._functions
            or name in self._attributes
            or is_computing_method(name)
            or is_in_place(name)
        )
        return not is_known and ast.unparse(owner) in owners


def _others_may_write(module: SourceModule) -> bool:
    names = (
        full_name(node, module.imports) or (node.attr if isinstance(node, ast.Attribute) else "")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    keywords = (
        keyword.arg or ""
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )
    return any(_OTHERS_MAY_WRITE.match(name) for name in (*names, *keywords) if name)


def _statements_in(module: SourceModule, loop: Turned) -> Sequence[Statement]:
    lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    if isinstance(loop, ast.For):
        return [it for it in module.statements if it.first_line in lines]
    alone = ast.copy_location(ast.Expr(loop), loop)
    return [Statement(alone, lines[0], lines[-1], module.function_at(loop.lineno), True, ())]


def _statements_of(module: SourceModule, function: Function) -> Sequence[Statement]:
    lines = range(function.first_line + 1, function.last_line + 1)
    return [it for it in module.statements if it.first_line in lines]


def _assigned_attributes(statements: Sequence[Statement]) -> Iterator[str]:
    for statement in statements:
        for node in statement.walk():
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                yield ast.unparse(node)


def _given_to(writers: Collection[str], nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call) and called_name(node) in writers:
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                for inner in ast.walk(argument):
                    if isinstance(inner, ast.Name | ast.Attribute):
                        yield ast.unparse(inner)


def _given(function: Function) -> set[str]:
    """Arguments, without the object whose method it is: what is written to that is an attribute of it."""
    given = arguments_of(function.node)
    return set(given[1:] if function.class_name else given)


def _touches(text: str, operand: Operand) -> bool:
    """Tell whether what is written as ``text`` may be ``operand``, what that is a part of, or a part of it."""
    root, attributes = _parts(text)
    own = _attributes(operand)
    if attributes and own:
        return not attributes.isdisjoint(own)
    return root == operand.steps[0]


def _touches_afar(text: str, operand: Operand) -> bool:
    """The same of what another function writes to, whose variables have other names."""
    root, attributes = _parts(text)
    own = _attributes(operand)
    return not attributes.isdisjoint(own) if attributes else root == operand.steps[0]


def _parts(text: str) -> tuple[str, frozenset[str]]:
    root, *attributes = text.split(".")
    return root, frozenset(attributes)


def _attributes(operand: Operand) -> frozenset[str]:
    return frozenset(step[1:] for step in operand.steps[1:] if step.startswith("."))


def _roots(texts: Iterable[str]) -> set[str]:
    return {text.partition(".")[0] for text in texts}


def _owners(operand: Operand) -> Iterator[str]:
    """Yield ``self`` and ``self.basis`` of ``self.basis.low``: the objects that it belongs to; of a variable itself."""
    names = [operand.steps[0]]
    yield names[0]
    for step in operand.steps[1:]:
        if not step.startswith("."):
            return
        names.append(step[1:])
        yield ".".join(names)


def _names_read(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _is_called_unnamed(name: str) -> bool:
    """Tell whether Python, or torch, calls it without its name: ``obs[0]``, ``net(obs)``. What is made anew changes nothing else."""
    is_special = name.startswith("__") and name.endswith("__")
    return name == "forward" or (
        is_special and name not in ("__init__", "__new__", "__post_init__")
    )
