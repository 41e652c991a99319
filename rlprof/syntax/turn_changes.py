"""Read what a turn of a loop may change: told only where all that it does was read, in its own lines and in all functions that it calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from rlprof.syntax.ancestors import Turned
from rlprof.syntax.changed import (
    assigned_attributes,
    chain,
    changed_in_place,
    given_another,
    values_given,
)
from rlprof.syntax.dependencies import (
    assigned_in,
    inputs_of_function,
    is_called_as_written,
    is_no_grad,
)
from rlprof.syntax.gone_through import Through, loops_through
from rlprof.syntax.imports import full_name, own_name, stands_for
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    called_name,
    receiver,
)
from rlprof.syntax.nodes import arguments_of, calls_in, nodes_in
from rlprof.syntax.operands import Operand
from rlprof.syntax.private_names import is_private
from rlprof.syntax.pure import attributes_given
from rlprof.syntax.pure_calls import (
    draws_at_random,
    is_built_in,
    is_computing_method,
    is_drawing_method,
    is_in_place,
    is_of_computing,
    only_computes,
    writes_by_argument,
)

_MOST_CALLED: Final = 40
"""Functions that a turn may call."""

_OTHERS_MAY_WRITE: Final = re.compile(
    r"threading|concurrent\.futures|multiprocessing\.(shared_memory|sharedctypes|Array|RawArray|Value|RawValue|Manager|pool\.ThreadPool)|mmap\b|"
    r".*\b(memmap|share_memory_?|Array|RawArray|Value|RawValue|SharedMemoryManager|ThreadPoolExecutor|requires_grad_?)\b"
)
"""Where a file names one of these, threads, processes or an optimizer may write to what it reads, and no statement shows it."""

_STATEMENTS: Final = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.For, ast.If, ast.Return, ast.Pass, ast.With, ast.Assert, ast.FunctionDef,
)  # fmt: skip
_REFUSED: Final = (
    ast.Await, ast.YieldFrom, ast.NamedExpr, ast.Lambda, ast.Global, ast.Nonlocal,
)  # fmt: skip

_TRAINS: Final = frozenset({"backward", "zero_grad", "step"})
"""Methods of losses and optimizers, called with nothing: they change parameters and gradients."""
_CLIPS: Final = frozenset({"clip_grad_norm_", "clip_grad_value_"})
"""Functions of torch's that change gradients."""
_READS: Final = frozenset({"parameters", "named_parameters", "buffers"})
"""Methods of networks."""
_TELLS: Final = frozenset({"print"})


_OF_ARRAYS: Final = re.compile(r"shape|ndim|T|mT|size|real|imag|nbytes|itemsize|device|dtype")
"""Attributes that arrays have by themselves."""
_RUNS_UNNAMED: Final = re.compile(r"__(?!(init|new|post_init|repr|str|len|del|hash)__)\w+__")
"""Methods that Python calls without their names: ``rows[0]``, ``a + b``, ``net(obs)``."""
_ANSWERS: Final = "forward"
"""The method by which a network of torch's answers."""


class Changes(Enum):
    NOTHING = "nothing"
    PARAMETERS = "parameters"
    """Of networks and what belongs to them, at most."""
    MORE = "more"
    """Or nobody knows: something is done that was not read."""


class _Part(NamedTuple):
    """The statements of the loop, or of a function that a turn calls."""

    module: SourceModule
    function: Function | None
    nodes: Sequence[ast.AST]

    @property
    def is_network(self) -> bool:
        """True if it is what a network computes: layers are called there that nobody can read, and that change nothing but their own."""
        return self.function is not None and self.function.node.name == _ANSWERS


class TurnChanges:
    """Reads the files of one program."""

    def __init__(self, modules: Sequence[SourceModule]) -> None:
        self.modules = modules
        self._functions: dict[str, list[tuple[SourceModule, Function]]] = {}
        self.others_may_write = any(map(_others_may_write, modules))
        """True if threads, other processes or optimizers may write to what a turn reads."""
        self._assigned = frozenset(
            name for module in modules for name in assigned_attributes(module)
        )
        """Names of the attributes that the program's own classes have."""
        for module in modules:
            for function in module.functions:
                self._functions.setdefault(function.node.name, []).append((module, function))
        unnamed = (
            name for name in self._functions if _RUNS_UNNAMED.fullmatch(name) or name == _ANSWERS
        )
        self._unnamed = [each for name in unnamed for each in self._functions[name]]

    def is_numpys(self, attribute: str) -> bool:
        """Tell whether attributes of that name are only ever given what functions of numpy return: no optimizer moves it."""
        given = [
            (module, value)
            for module in self.modules
            for name, value in values_given(module)
            if name == attribute
        ]
        return bool(given) and all(
            isinstance(value, ast.Call)
            and full_name(value.func, module.imports).startswith("numpy.")
            for module, value in given
        )

    def attributes_read(self, function: Function) -> frozenset[str]:
        """Return the names of all attributes that a function reads, or one that it may call: of elements of its arguments, too."""
        pending, seen = [function.node], {id(function.node)}
        found: set[str] = set()
        while pending:
            nodes = list(ast.walk(pending.pop()))
            called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
            for node in nodes:
                is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
                if isinstance(node, ast.Attribute) and is_read and id(node) not in called:
                    found.update(() if _is_of_library(node) else (node.attr,))
                name = own_name(node)
                for _, other in self._functions.get(name, ()) if name else ():
                    if id(other.node) not in seen:
                        seen.add(id(other.node))
                        pending.append(other.node)
        return frozenset(found)

    def are_kept(self, attributes: Iterable[str]) -> bool:
        """Tell whether all ``attributes`` hold what the program's own files assign: no property, whose value may be another each time, and
        nothing of a library's object.
        """
        names = {name for name in attributes if not _OF_ARRAYS.fullmatch(name)}
        return names <= self._assigned and names.isdisjoint(self._functions)

    def are_given_by_one(self, attributes: Collection[str], function: Function) -> bool:
        """Tell whether no function of the program but ``function``, and those that make objects, gives ``attributes`` of these names values."""
        others = (
            other.node
            for module in self.modules
            for other in module.functions
            if other.node is not function.node and other.node.name != "__init__"
        )
        return all(attributes_given(node).isdisjoint(attributes) for node in others)

    def leaves(
        self,
        module: SourceModule,
        loop: Turned,
        operands: Collection[Operand],
        attributes: frozenset[str],
        known: Collection[str],
    ) -> Changes:
        """Tell what of the program a turn of a loop of ``module`` changes, as far as ``operands``, as they are written in the loop's function,
        and attributes of the names in ``attributes`` are concerned.

        ``known`` are names of functions whose calls are known to compute alone, and of attributes that hold them.
        """
        parts = self._parts(module, loop, known)
        if parts is None:
            return Changes.MORE
        variables = assigned_in(loop)
        if any(operand.steps[0] in variables for operand in operands):
            return Changes.MORE
        roots = {operand.steps[0] for operand in operands}
        depends_on = attributes.union(*(operand.attributes for operand in operands))
        for part in parts:
            if not (depends_on | roots).isdisjoint(given_another(part.nodes)):
                return Changes.MORE
            for target in changed_in_place(
                node
                for node in part.nodes
                if not (self._is_own_method(node, part) or _trains(node))
            ):
                if not self._is_apart(target, part, roots, depends_on):
                    return Changes.MORE
        trains = any(_trains(node) for part in parts for node in part.nodes)
        is_network = any(part.is_network for part in parts)
        return Changes.PARAMETERS if trains or is_network else Changes.NOTHING

    def _parts(
        self, module: SourceModule, loop: Turned, known: Collection[str]
    ) -> list[_Part] | None:
        """Return the loop and all functions that a turn may call, and of a generator the loops through what it yields; None where
        something else is called, or done.
        """
        function = module.function_at(loop.lineno)
        parts = [_Part(module, function, _within(loop))]
        if _ends_early(loop):
            return None
        parts += [_Part(own, other, _within(other.node)) for own, other in self._unnamed]
        seen = {id(other) for _, other in self._unnamed}
        for part in parts:
            called_here = {id(node.func) for node in part.nodes if isinstance(node, ast.Call)}
            alone = {id(node.value) for node in part.nodes if isinstance(node, ast.Expr)}
            for node in part.nodes if not part.is_network else ():
                if isinstance(node, _REFUSED) or (
                    isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS)
                ):
                    return None
                if isinstance(node, ast.withitem) and not is_no_grad(node.context_expr):
                    return None
                if id(node) in called_here:
                    continue  # Its call tells more.
                if isinstance(node, ast.Yield):
                    # What a caller sends in by its value is read nowhere.
                    through = self._loops_through(part.function) if id(node) in alone else None
                    if through is None or any(_ends_early(each.loop) for each in through):
                        return None
                    for each in through:
                        if id(each.loop) not in seen:
                            seen.add(id(each.loop))
                            parts.append(_Part(each.module, each.function, _within(each.loop)))
                    continue
                called = self._called(node, part.module, known)
                if called is None:
                    return None
                for own, other in called:
                    if id(other) not in seen:
                        seen.add(id(other))
                        parts.append(_Part(own, other, _within(other.node)))
            if len(parts) > _MOST_CALLED:
                return None
        return parts

    def _called(
        self, node: ast.AST, module: SourceModule, known: Collection[str]
    ) -> list[tuple[SourceModule, Function]] | None:
        """Return the functions of the program that ``node`` runs; None where it may run anything else that does more than compute."""
        if isinstance(node, ast.Attribute):
            # A property, or a method that is handed on.
            return self._of_name(node.attr)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._of_name(node.id)
        if not isinstance(node, ast.Call):
            return []
        name, full = called_name(node), full_name(node.func, module.imports)
        if isinstance(node.func, ast.Name) and name in assigned_in(*_function_body(module, node)):
            return None
        own = [each for each in self._functions.get(name, []) if _may_be_called(each[1], node)]
        if name in known and not own:
            return []
        if own:
            own = [each for each in own if not self._only_computes(*each)]
            return own if _are_plain(own) else None
        if full:
            is_known = only_computes(full) or draws_at_random(full) or _trains(node)
            return [] if is_known and not writes_by_argument(node) else None
        if isinstance(node.func, ast.Name):
            return [] if is_built_in(name) or name in _TELLS else None
        computes = is_computing_method(name) or is_drawing_method(name)
        is_known = computes or is_in_place(name) or _trains(node) or name in _READS
        return [] if is_known and receiver(node) is not None else None

    def _loops_through(self, generator: Function | None) -> list[Through] | None:
        return loops_through(self.modules, generator.node.name) if generator else None

    def _only_computes(self, module: SourceModule, function: Function) -> bool:
        """Tell whether a function changes nothing, and runs no property: there is nothing to read in it."""
        is_pure = inputs_of_function(module, function.first_line) is not None
        return is_pure and self.are_kept(self.attributes_read(function))

    def _of_name(self, name: str) -> list[tuple[SourceModule, Function]] | None:
        found = self._functions.get(name, [])
        return found if _are_plain(found) else None

    def _is_own_method(self, node: ast.AST, part: _Part) -> bool:
        """Tell ``self.update(batch)`` of the program's own, which is read, from the ``update`` of a dictionary."""
        if not isinstance(node, ast.Call) or part.function is None or not part.function.class_name:
            return False
        owner = receiver(node)
        is_self = isinstance(owner, ast.Name) and [owner.id] == arguments_of(part.function.node)[:1]
        return is_self and called_name(node) in self._functions

    def _is_apart(
        self, target: ast.expr, part: _Part, roots: Collection[str], attributes: frozenset[str]
    ) -> bool:
        """Tell whether to change ``target`` in place changes nothing that is depended on, for it shares memory with nothing."""
        root, names = chain(target)
        if root is None or not attributes.isdisjoint(names):
            return False
        is_own = part.function is not None and root.id in arguments_of(part.function.node)[:1]
        if not names and root.id in roots:
            return False
        if names and not (is_own and part.function is not None and part.function.class_name):
            return False
        return is_private(self.modules, part.module, part.function, root.id, tuple(names))


def _are_plain(functions: Iterable[tuple[SourceModule, Function]]) -> bool:
    return all(is_called_as_written(function.node) for _, function in functions)


def _may_be_called(function: Function, call: ast.Call) -> bool:
    """Tell ``envs.step(actions)``, of the program's own, from ``optimizer.step()``, which gives less than that takes."""
    is_spread = any(isinstance(each, ast.Starred) for each in call.args)
    if is_spread or any(keyword.arg is None for keyword in call.keywords):
        return True
    takes = function.node.args
    needed = len(takes.posonlyargs) + len(takes.args) - len(takes.defaults)
    is_bound = function.class_name and isinstance(call.func, ast.Attribute)
    return len(call.args) + len(call.keywords) >= needed - bool(is_bound)


def _trains(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    return name in _CLIPS or (
        isinstance(node.func, ast.Attribute) and name in _TRAINS and not node.args
    )


def _ends_early(loop: Turned) -> bool:
    return any(isinstance(node, ast.Return) for node in _within(loop))


def _within(node: ast.AST) -> list[ast.AST]:
    """Return what runs in each turn, or each call: the head of a loop is left out, and decorators."""
    if isinstance(node, ast.For):
        inner: list[ast.AST] = list(node.body)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inner = list(node.body) if isinstance(node, ast.FunctionDef) else [node]
    else:
        inner = [node]
    return list(nodes_in(*inner))


@lru_cache(maxsize=PARSED_FILES)
def _bodies(module: SourceModule) -> Mapping[int, Sequence[ast.stmt]]:
    """Return the function's body around each call, by the call's identity."""
    return {
        id(node): function.node.body
        for function in module.functions
        for node in calls_in(function.node)
    }


def _function_body(module: SourceModule, call: ast.Call) -> Sequence[ast.stmt]:
    return _bodies(module).get(id(call), ())


def _is_of_library(node: ast.Attribute) -> bool:
    """Tell ``np.pi`` from an attribute of an object."""
    root, _ = chain(node)
    return root is not None and is_of_computing(stands_for(root))


def _others_may_write(module: SourceModule) -> bool:
    nodes = list(ast.walk(module.tree))
    names = [
        full_name(node, module.imports) or own_name(node)
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    ]
    names += [
        keyword.arg or ""
        for node in nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    ]
    return any(_OTHERS_MAY_WRITE.match(name) for name in names if name)
