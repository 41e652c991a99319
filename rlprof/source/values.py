"""Tell what names stood for at the lines of a run, and which function a call calls, by the descriptions that agents took."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

from rlprof.model.recording import SeenValue
from rlprof.source.value import Value, shape_of
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import SourceModule, Statement
from rlprof.syntax.origin import Origin, origin_of_file
from rlprof.units import whole_number

_MODULES: Final = {"posix": "os", "_io": "io", "_csv": "csv", "_pickle": "pickle"}
"""Modules in C, by those that hand out their functions."""

_TENSORS: Final = ("torch.Tensor", "torch.nn.parameter.Parameter")
_ARRAYS: Final = ("numpy.ndarray",)

_SMALL_ROW: Final = 4_096
"""Numbers in a tensor of a list: one operation on more of them is more work than call."""


class SeenTensor(NamedTuple):
    """A tensor, or an array, that was seen during the run."""

    line: int
    operand: str
    """As written: ``self.values``."""
    shape: tuple[int, ...]


class Values:
    """The values of a run, by file and line."""

    def __init__(self, seen: Sequence[SeenValue]) -> None:
        self._at: dict[tuple[str, int], dict[str, list[SeenValue]]] = {}
        self._files = {value.file for value in seen}
        for value in seen:
            operands = self._at.setdefault((value.file, value.line), {})
            operands.setdefault(value.operand, []).append(value)

    def __bool__(self) -> bool:
        """Tell whether there was any look."""
        return bool(self._files)

    def has(self, file: str) -> bool:
        """Tell whether there was a look at a line of ``file``."""
        return file in self._files

    def tensors(self, file: str) -> frozenset[SeenTensor]:
        """Those of torch that were seen in ``file``."""
        return self._seen(file, _TENSORS)

    def lists_of_tensors(self, file: str) -> frozenset[SeenTensor]:
        """Lists of small ones, as if each were one tensor, of which they are the rows."""
        return frozenset(
            SeenTensor(line, operand, (length, *row))
            for (name, line), operands in self._at.items()
            if name == file
            for operand, looks in operands.items()
            if looks[-1].fields.get("type") == "list"
            and looks[-1].fields.get("first.type") in _TENSORS
            and (length := whole_number(looks[-1].fields.get("length", ""))) is not None
            and prod(row := shape_of(looks[-1].fields, "first.") or ()) <= _SMALL_ROW
        )

    def arrays(self, file: str) -> frozenset[SeenTensor]:
        """The arrays of numpy that were."""
        return self._seen(file, _ARRAYS)

    def _seen(self, file: str, types: Collection[str]) -> frozenset[SeenTensor]:
        return frozenset(
            SeenTensor(line, operand, shape_of(looks[-1].fields) or ())
            for (name, line), operands in self._at.items()
            if name == file
            for operand, looks in operands.items()
            if looks[-1].fields.get("type") in types
        )

    def of(self, file: str, statement: Statement) -> Mapping[str, Value]:
        """Return what is known of the operands of a statement, by their text."""
        return self.between(file, statement.lines)

    def between(self, file: str, lines: range, function: str = "") -> Mapping[str, Value]:
        """The same of all statements on ``lines``, as frames of ``function`` have them: those of comprehensions have variables of their own."""
        found: dict[str, list[SeenValue]] = {}
        for line in lines:
            for operand, seen in self._at.get((file, line), {}).items():
                own = [look for look in seen if not function or look.function == function]
                if own:
                    found.setdefault(operand, []).extend(own)
        return {operand: Value(sorted(seen, key=_time)) for operand, seen in found.items()}

    def within(self, file: str, function: str = "") -> Mapping[str, Value]:
        """The same of all lines of a function, or of the whole file."""
        found: dict[str, list[SeenValue]] = {}
        for (name, _), operands in self._at.items():
            for operand, seen in operands.items() if name == file else ():
                if own := [look for look in seen if not function or look.function == function]:
                    found.setdefault(operand, []).extend(own)
        return {operand: Value(sorted(seen, key=_time)) for operand, seen in found.items()}

    def attribute(
        self, file: str, class_name: str, name: str, methods: Collection[int]
    ) -> Value | None:
        """The attribute of that name of objects of a class, as it was seen anywhere in a file; None where they were seen to have it of
        several types. ``methods`` are the lines on which ``self`` is one of them.
        """
        found = [
            look
            for (named, line), operands in self._at.items()
            if named == file
            for operand, looks in operands.items()
            if operand.endswith(f".{name}")
            and (
                (operand == f"self.{name}" and line in methods)
                or _are_of(class_name, file, operands.get(operand.removesuffix(f".{name}"), ()))
            )
            for look in looks
        ]
        agree = len({look.fields.get("type") for look in found}) == 1
        return Value(sorted(found, key=_time)) if agree else None

    def changes(self, file: str, function: str, operand: str) -> bool:
        """Tell whether an operand had other contents than before at some look: a variable in ``function``, an attribute anywhere in the file."""
        return any(
            whole_number(seen.fields.get("other", ""))
            and ("." in operand or seen.function == function)
            for (name, _), operands in self._at.items()
            if name == file
            for seen in operands.get(operand, ())
        )


def value_of(expression: ast.expr, known: Mapping[str, Value]) -> Value | None:
    """Return what is known of ``expression``; None where it is more than a name, or was not seen."""
    return known.get(ast.unparse(expression))


def asked_network(call: ast.Call, known: Mapping[str, Value]) -> Value | None:
    """Return the network that a call asks, where it was seen to be one; None for any other call."""
    asked = value_of(call.func, known)
    return asked if asked is not None and asked.is_network else None


def _are_of(class_name: str, file: str, looks: Sequence[SeenValue]) -> bool:
    """Tell whether ``looks`` are at objects of a class of ``file``, or of one derived from it."""

    def is_it(fields: Mapping[str, str]) -> bool:
        own = fields.get("type", "").rpartition(".")[2] == class_name
        bases = (base.rpartition(".")[2] for base in fields.get("bases", "").split(","))
        return (own and fields.get("file", file) == file) or class_name in bases

    return bool(looks) and all(is_it(look.fields) for look in looks)


def _time(seen: SeenValue) -> int:
    return seen.last_us


class Callee(NamedTuple):
    name: str
    """With its module: ``os.fsync``, ``io.TextIOWrapper.write``. A method that was taken from its object may lack the
    module. Empty where nothing tells."""
    is_seen: bool = False
    """True if a look has told: then its name as written says nothing."""
    file: str = ""
    line: int = 0
    """Where it is defined, of what was seen and is written in Python; of an object that is called, its class and no line."""

    @property
    def is_python(self) -> bool:
        """True if frames show it at work."""
        return bool(self.file)

    @property
    def is_yours(self) -> bool:
        return self.is_python and origin_of_file(self.file) is Origin.YOURS


def callee(call: ast.Call, known: Mapping[str, Value], module: SourceModule | None) -> Callee:
    value = value_of(call.func, known)
    if value is None:
        return Callee(_public(full_name(call.func, module.imports) if module else ""))
    name = value.function or value.made
    if not name and value.type == "__getattr__" and isinstance(call.func, ast.Attribute):
        name = f"{value.owner}.{call.func.attr}"
    if not name and value.file:
        name = f"{value.type}.__call__"
    file = value.file if value.file.endswith(".py") else ""
    return Callee(_public(name), is_seen=True, file=file, line=value.line if file else 0)


def calls_compiled(call: ast.Call, known: Mapping[str, Value]) -> bool:
    """Tell whether what it calls was seen, and is not written in Python: a function, or a class."""
    value = value_of(call.func, known)
    if value is None:
        return False
    return value.is_compiled or (bool(value.made) and not value.file.endswith(".py"))


def _public(name: str) -> str:
    module, dot, rest = name.partition(".")
    return _MODULES.get(module, module) + dot + rest
