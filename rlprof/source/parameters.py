"""Sizes that a program gives names to: how many environments, how long a batch, how big a buffer."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

from rlprof.syntax.imports import own_name
from rlprof.syntax.module import PARSED_FILES, SourceModule, called_name, parse
from rlprof.syntax.nodes import assigned, defaults_of, given_by_name, positional_of

_OPTION: Final = re.compile(r"^(?:--?|\+{1,2})?(?P<name>[\w.\-]+)(?:=(?P<value>.*))?$", re.DOTALL)
_WHOLE: Final = re.compile(r"^\d[\d_]*$")
_MOST: Final = 1e15
"""No size of a program is larger; what is may not even be computed."""


_MOST_PRODUCTS: Final = 3
"""Products that are made of each other."""


class _Source(IntEnum):
    """The source that a value was read in, the one that holds over the others first."""

    CALL = 0
    """``ReplayBuffer(capacity=50_000)``, and ``draw(24)`` of the file's own ``def draw(k)``."""
    ASSIGNMENT = 1
    """``BATCH_SIZE = 64``, ``batch_size: int = 64`` of a dataclass, ``{"batch_size": 64}``, and
    ``add_argument("--batch-size", default=64)``."""
    DEFAULT = 2
    """``def __init__(self, batch_size=64)``."""


class Parameters:
    """Whole numbers by the names that the user's files and the command line give them.

    A name that is given two values in the same way is not known: which one holds cannot be told
    from the text.
    """

    def __init__(self, sources: Mapping[str, str], command: Sequence[str]) -> None:
        self._sources = sources
        self._command = command
        self._known: dict[str, int] | None = None

    def value(self, expression: ast.expr | None) -> int | None:
        """Return what ``expression`` comes to: a number, a known name, or a product of such."""
        return _number(expression, self.named)

    def named(self, *names: str) -> int | None:
        """The value of the first of ``names`` that has one."""
        if self._known is None:
            self._known = self._read()
            self._add_products(self._known)
        return next((self._known[key] for key in map(_key, names) if key in self._known), None)

    def _add_products(self, known: dict[str, int]) -> None:
        """Add what names are given that is a product of others: ``batch_size = int(num_envs * num_steps)``."""
        for _ in range(_MOST_PRODUCTS):
            found: dict[str, set[int | None]] = defaultdict(set)
            for file in sorted(self._sources):
                for name, expression in _products(self._sources[file]):
                    if name not in known:
                        found[name].add(self.value(expression))
            told = {name: next(iter(values)) for name, values in found.items() if len(values) == 1}
            new = {name: value for name, value in told.items() if value is not None}
            known |= new
            if not new:
                break

    def _read(self) -> dict[str, int]:
        found: dict[_Source, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for file in sorted(self._sources):
            for source, name, value in _named_numbers(self._sources[file]):
                found[source][name].add(value)
        known: dict[str, int] = {}
        for source in reversed(_Source):
            for name, values in found[source].items():
                known.pop(name, None)
                if len(values) == 1:
                    known[name] = next(iter(values))
        return known | _from_command(self._command)


@lru_cache(maxsize=PARSED_FILES)
def _named_numbers(text: str) -> tuple[tuple[_Source, str, int], ...]:
    module = parse(text)
    if module is None:
        return ()
    own = _parameters_by_position(module)
    return tuple(
        (source, _key(name), value)
        for node in ast.walk(module.tree)
        for source, name, expression in (*_named(node), *_by_position(node, own))
        if name and (value := _number(expression)) is not None
    )


def _parameters_by_position(module: SourceModule) -> dict[str, list[str]]:
    """Parameters of the file's functions, by the names that these are called by; of several of one name none."""
    found: dict[str, list[list[str]]] = defaultdict(list)
    for function in module.functions:
        names = positional_of(function.node)
        found[function.called_by].append(names[1:] if names[:1] in (["self"], ["cls"]) else names)
    return {called: several[0] for called, several in found.items() if len(several) == 1}


def _by_position(
    node: ast.AST, own: Mapping[str, Sequence[str]]
) -> Iterator[tuple[_Source, str, ast.expr | None]]:
    if isinstance(node, ast.Call) and not any(isinstance(each, ast.Starred) for each in node.args):
        for name, argument in zip(own.get(called_name(node), ()), node.args, strict=False):
            yield _Source.CALL, name, argument


@lru_cache(maxsize=PARSED_FILES)
def _products(text: str) -> tuple[tuple[str, ast.expr], ...]:
    """Return the names that are given something else, and what."""
    module = parse(text)
    if module is None:
        return ()
    return tuple(
        (_key(name), each.value)
        for node in ast.walk(module.tree)
        for each in assigned(node)
        if not each.is_unpacked and (name := _name(each.target)) and _number(each.value) is None
    )


def _named(node: ast.AST) -> Iterator[tuple[_Source, str, ast.expr | None]]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        for each in assigned(node):
            if not each.is_unpacked:
                yield _Source.ASSIGNMENT, _name(each.target), each.value
    elif isinstance(node, ast.Dict):
        for key, item in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield _Source.ASSIGNMENT, key.value, item
    elif isinstance(node, ast.Call):
        yield from _named_by_call(node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from ((_Source.DEFAULT, *given) for given in defaults_of(node.args).items())


def _named_by_call(call: ast.Call) -> Iterator[tuple[_Source, str, ast.expr | None]]:
    if called_name(call) in ("add_argument", "option"):
        default = next(iter(given_by_name(call, "default")), None)
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield _Source.ASSIGNMENT, argument.value.lstrip("-"), default
        return
    for keyword in call.keywords:
        yield _Source.CALL, keyword.arg or "", keyword.value


def _number(
    expression: ast.expr | None, named: Callable[[str], int | None] = lambda _name: None
) -> int | None:
    """``expression`` where it is made of numbers, ``64``, ``1e6``, ``2 ** 15``, ``4 * 128``, and of names that are ``named`` one."""
    if isinstance(expression, ast.Constant):
        return _whole(expression)
    if isinstance(expression, ast.Call) and called_name(expression) == "int" and expression.args:
        return _number(expression.args[0], named)
    if isinstance(expression, ast.BinOp):
        left, right = _number(expression.left, named), _number(expression.right, named)
        return _combined(expression.op, left, right)
    name = _name(expression)
    return named(name) if name else None


def _combined(operator: ast.operator, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if isinstance(operator, ast.Mult):
        found = left * right
    elif isinstance(operator, ast.Pow) and right < 64 and left < 1_000_000:
        found = left**right
    elif isinstance(operator, ast.FloorDiv) and right:
        found = left // right
    else:
        return None
    return found if found <= _MOST else None


def _whole(constant: ast.Constant) -> int | None:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value <= _MOST and value == int(value) else None


def _name(expression: ast.expr | None) -> str:
    """The last name of ``args.batch_size``, ``config["batch_size"]`` or ``BATCH_SIZE``."""
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        key = expression.slice.value
        return key if isinstance(key, str) else ""
    return own_name(expression)


def _key(name: str) -> str:
    """Return ``batch_size`` for ``--batch-size`` and ``BATCH_SIZE``; of one letter ``N`` and ``n`` are two."""
    plain = name.strip("_").replace("-", "_")
    return plain if len(plain) == 1 else plain.lower()


def _from_command(command: Sequence[str]) -> dict[str, int]:
    """``--num-envs 8``, ``--num_envs=8`` and ``train.num_envs=8``."""
    known: dict[str, int] = {}
    for argument, following in _pairs(command):
        option = _OPTION.match(argument)
        if option is None:
            continue
        value = option["value"]
        if value is None and argument.startswith("-"):
            value = following
        if value is not None and _WHOLE.match(value):
            known[_key(option["name"].lstrip("-").rpartition(".")[2])] = int(value)
    return known


def _pairs(command: Sequence[str]) -> Iterable[tuple[str, str]]:
    return zip(command, (*command[1:], ""), strict=True)
