"""Tell which function a call calls: the one that was seen there, or the one that the file imports."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final, NamedTuple

from rlprof.source.value import Value
from rlprof.source.values import value_of
from rlprof.syntax.imports import full_name
from rlprof.syntax.module import SourceModule
from rlprof.syntax.origin import Origin, origin_of_file

_MODULES: Final = {"posix": "os", "_io": "io", "_csv": "csv", "_pickle": "pickle"}
"""Modules in C, by those that hand out their functions."""


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
