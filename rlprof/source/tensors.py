"""Tell which names of a source file hold torch tensors, as far as its text is sure."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from rlprof.syntax.imports import FUNCTIONAL, TORCH, name_key, root_name
from rlprof.syntax.module import (
    PARSED_FILES,
    Function,
    SourceModule,
    Statement,
    called_name,
    parse,
)
from rlprof.syntax.nodes import assigned

_MADE: Final = frozenset(
    {"zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace"}
    | {
        "tensor",
        "as_tensor",
        "from_numpy",
        "stack",
        "cat",
        "concat",
        "where",
        "clamp",
        "exp",
        "log",
    }
    | {"abs", "sum", "mean", "sqrt", "tanh", "sigmoid", "relu", "softmax", "log_softmax", "gather"}
    | {"minimum", "maximum", "argmax", "multinomial", "normal", "bernoulli", "cumsum", "flip"}
    | {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "squeeze"}
    | {"unsqueeze", "reshape", "clone", "detach", "matmul", "bmm", "einsum", "square", "lerp"}
)
"""Functions of torch and of torch.nn.functional that give one tensor."""

_LIKE: Final = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "rand_like"})

ONLY_OF_TENSORS: Final = frozenset({"detach", "unsqueeze", "masked_fill", "expand_as", "view_as"})
"""Methods that neither arrays of numpy nor networks have."""

_GIVE_NO_TENSOR: Final = frozenset(
    {"item", "tolist", "numpy", "size", "dim", "numel", "nelement", "chunk", "split", "unbind"}
    | {"data_ptr", "stride", "backward", "is_contiguous", "max", "min", "sort", "topk", "type"}
)
"""Methods of tensors that give something else, or several."""


class Tensors:
    """The names of one function (or of the module's own level) that hold tensors."""

    def __init__(self, names: frozenset[str], others: frozenset[str]) -> None:
        self.names = names
        """``q`` for a variable, ``.q`` for an attribute of anything."""
        self.others = others
        """Names that hold something else, at least at times."""

    def and_also(self, names: Iterable[str]) -> Tensors:
        """These, with ``names`` known to hold tensors."""
        more = frozenset(names)
        return Tensors(self.names | more, self.others - more)

    def holds(self, expression: ast.expr) -> bool:
        """Tell whether ``expression`` is sure to be a tensor."""
        if isinstance(expression, ast.Call):
            return self._is_made(expression)
        if isinstance(expression, ast.BinOp):
            return self.holds(expression.left) or self.holds(expression.right)
        if isinstance(expression, ast.Compare):
            return self.holds(expression.left)
        if isinstance(expression, ast.UnaryOp):
            return not isinstance(expression.op, ast.Not) and self.holds(expression.operand)
        if isinstance(expression, ast.Subscript):
            return self.holds(expression.value)
        if isinstance(expression, ast.Attribute) and expression.attr in ("data", "grad", "T"):
            return self.holds(expression.value)
        key = name_key(expression)
        return key in self.names and key not in self.others

    def _is_made(self, call: ast.Call) -> bool:
        name = called_name(call)
        if root_name(call.func) in TORCH | FUNCTIONAL:
            return name in _MADE
        if not isinstance(call.func, ast.Attribute) or name in _GIVE_NO_TENSOR:
            return False
        return name in ONLY_OF_TENSORS or self.holds(call.func.value)


NONE_KNOWN: Final = Tensors(frozenset(), frozenset())


@lru_cache(maxsize=PARSED_FILES)
def tensors_of(text: str) -> Mapping[str, Tensors]:
    """The tensors of each function of ``text``, by its qualified name; of the module's level by ``""``.

    A parameter is one where each call in the file gives one.
    """
    module = parse(text)
    if module is None or "torch" not in text:
        return {}
    attributes = _known(module.statements, NONE_KNOWN, attributes=True)
    by_function: dict[str, list[Statement]] = defaultdict(list)
    for statement in module.statements:
        by_function[scope_of(statement)].append(statement)
    found = {
        name: _known(statements, attributes.and_also(_annotated(statements[0].function)))
        for name, statements in by_function.items()
    }
    given = _given(module, found)
    for name, statements in by_function.items():
        function = statements[0].function
        parameters = function.node.args.args if function else []
        more = {
            parameter.arg
            for parameter in parameters
            if function and given.get((function.node.name, parameter.arg))
        }
        if more:
            outer = attributes.and_also(_annotated(function) | more)
            found[name] = _known(statements, outer)
    return found


def scope_of(statement: Statement) -> str:
    return statement.function.qualname if statement.function else ""


def _given(module: SourceModule, found: dict[str, Tensors]) -> dict[tuple[str, str], bool]:
    """(function, parameter): whether every call in the file gives a tensor for it."""
    parameters = {
        function.node.name: [
            argument.arg for argument in function.node.args.args if argument.arg != "self"
        ]
        for function in module.functions
    }
    given: dict[tuple[str, str], bool] = {}
    for statement in module.statements:
        tensors = found[scope_of(statement)]
        for call in statement.walk():
            if not isinstance(call, ast.Call) or called_name(call) not in parameters:
                continue
            names = parameters[called_name(call)]
            pairs = [*zip(names, call.args, strict=False)]
            pairs += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
            for name, value in pairs:
                key = (called_name(call), name)
                given[key] = given.get(key, True) and tensors.holds(value)
    return given


def _known(statements: Iterable[Statement], outer: Tensors, *, attributes: bool = False) -> Tensors:
    """``outer`` and the variables, or the attributes, that ``statements`` make tensors."""
    values: dict[str, list[ast.expr]] = defaultdict(list)
    likened: set[str] = set()
    for statement in statements:
        likened.update(name for name in _likened(statement) if name.startswith(".") is attributes)
        for each in assigned(statement.node):
            key = name_key(each.target)
            if key and key.startswith(".") is attributes:
                values[key].append(each.value)
    known = outer.and_also(likened)
    # A second time: what a loop's last line makes a tensor, its first line reads.
    for _ in range(2):
        known = known.and_also(key for key, given in values.items() if any(map(known.holds, given)))
    others = {
        key
        for key, given in values.items()
        if any(not _is_plain_number(value) and not known.holds(value) for value in given)
    }
    return Tensors(known.names, known.others | (others - likened))


def _is_plain_number(value: ast.expr) -> bool:
    """``last = 0`` before the loop makes it no number."""
    return isinstance(value, ast.Constant)


def _likened(statement: Statement) -> Iterator[str]:
    """Yield the names of which torch makes another that is like it: only tensors are given there."""
    for call in statement.walk():
        if not isinstance(call, ast.Call) or root_name(call.func) not in TORCH:
            continue
        if called_name(call) in _LIKE and call.args:
            yield name_key(call.args[0])


def _annotated(function: Function | None) -> set[str]:
    if function is None:
        return set()
    arguments = (*function.node.args.args, *function.node.args.kwonlyargs)
    return {
        argument.arg
        for argument in arguments
        if argument.annotation is not None and ast.unparse(argument.annotation).endswith("Tensor")
    }
