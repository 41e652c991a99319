"""The program that a test measures: a command, or a function that is called in a fresh process."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlprof.cli.command import Target, TargetKind, command_of, script_name, split
from rlprof.errors import UsageError
from rlprof.gate.program import as_typed
from rlprof.names import printable

_NAME_LIMIT: Final = 120

_CALL: Final = """
import importlib, importlib.util, json, os, sys

def imported(name, file):
    try:
        module = importlib.import_module(name)
    except ImportError:
        if not file:
            raise
        module = None
    if module is None or file and not os.path.samefile(module.__file__, file):
        # pytest --import-mode=importlib: the module is not where its name says.
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module

asked = json.loads(sys.argv.pop())
paths = asked["paths"]
sys.path[:] = [*paths, *(path for path in sys.path if path and path not in paths)]
sys.argv[0] = asked["file"]
function = imported(asked["module"], asked["file"])
for part in asked["name"].split("."):
    function = getattr(function, part)
function()
"""
"""Not pytest's own process: the agent counts from the start of a process, and would disturb other tests."""


@dataclass(frozen=True, slots=True)
class MeasuredProgram:
    command: tuple[str, ...]
    """With its interpreter."""
    script: str
    """How the run is called."""
    name: str
    """Name for people: as one would type it behind ``rlprof run``, or a function."""


def program_of(command: Sequence[str] | Callable[[], object], folder: Path) -> MeasuredProgram:
    """Raises ``UsageError`` or ``LaunchError`` for what cannot be started in ``folder``."""
    if callable(command):
        return _calling(command)
    options, target = split([*command], frozenset())
    if options or not target.words:
        raise UsageError(
            f"{_command_name(command)} does not begin with what to run",
            slug="no-target",
            hint="begin with a script, with -m and a module, or with -- and a command; its options come behind",
        )
    started = target
    if target.kind is TargetKind.SCRIPT:
        # pytest may have been called in any folder.
        started = Target(target.kind, (str(folder / target.words[0]), *target.words[1:]))
    python = None if target.kind is TargetKind.COMMAND else Path(sys.executable)
    return MeasuredProgram(
        command=command_of(started, python),
        script=script_name(target),
        name=_command_name(command),
    )


def _command_name(command: Sequence[str]) -> str:
    return printable(as_typed(command), _NAME_LIMIT)


def _calling(function: Callable[[], object]) -> MeasuredProgram:
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__qualname__", "")
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    # Methods of a class are made anew each time, and equal.
    if module is None or found != function:
        raise _cannot_be_called(function, "it cannot be imported from a module")
    if inspect.iscoroutinefunction(function):
        raise _cannot_be_called(function, "it is a coroutine")
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise _cannot_be_called(function, str(error)) from error
    asked = {
        "module": module.__name__,
        "file": getattr(module, "__file__", None) or "",
        "name": name,
        "paths": [os.path.abspath(path) for path in sys.path],  # noqa: PTH100 - "" is here
    }
    return MeasuredProgram(
        command=(sys.executable, "-c", _CALL, json.dumps(asked)), script=name, name=f"{name}()"
    )


def _cannot_be_called(function: object, why: str) -> UsageError:
    name = getattr(function, "__qualname__", repr(function))
    return UsageError(
        f"{printable(name, _NAME_LIMIT)} cannot be called in a fresh process: {why}",
        slug="bad-speed-test",
        hint="give a function that stands in a module, by itself, and takes no arguments",
    )
