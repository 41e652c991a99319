"""The fixture ``assert_sps``: measures what a test asks for, tells what came of it, and fails."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from rlprof.cli.command import Target, TargetKind, command_of, script_name, split
from rlprof.cli.target import counted_function, pattern_of
from rlprof.errors import MeasureError, RlprofError, UsageError
from rlprof.gate.floor import (
    Floor,
    FloorRequest,
    FloorRun,
    exceeded,
    fastest,
    measure_apart,
    missed,
)
from rlprof.gate.program import Counting, Program, Side, as_typed
from rlprof.names import printable
from rlprof.pytest_plugin.options import Mark, Options, in_python, options_of
from rlprof.recording.machine.git_environment import without_repository
from rlprof.report import wording

_NOT_PASSED_ON: Final = (
    "COV_CORE_",
    "COVERAGE_PROCESS_",
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_",
)
"""Beginnings of variables that a training has in a test alone: it would be timed under coverage."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures that were measured: of the fastest run, or of the last one where none came to a rate."""

    sps: float | None
    """Steady steps per second. None where ``at_least`` was not given and the run was too short."""
    sps_low: float | None
    sps_high: float | None
    unit: str
    """``steps``, or ``updates`` where optimizer steps stand in."""
    source: str
    """Source of the counted steps."""
    steps: float
    counters: Mapping[str, float]
    """Per step, over the whole run, of the run that has most: what was asked for, and what else occurred."""
    rates: tuple[float, ...]
    """Rates of all runs, in their order."""


class AssertSps:
    """Object that the fixture hands to a test."""

    def __init__(self, request: pytest.FixtureRequest, folders: pytest.TempPathFactory) -> None:
        self._request = request
        self._folders = folders
        self.was_called = False
        """Whatever came of it."""

    def __call__(
        self,
        at_least: float | None = None,
        counters: Mapping[str, float] | None = None,
        *,
        command: Sequence[str | os.PathLike[str] | float] | Callable[[], object] | None = None,
        runs: int | None = None,
        timeout: float | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        steps_from: str | None = None,
        sps_pattern: str | None = None,
    ) -> Measured:
        """Raise ``AssertionError`` where the training is too slow or counts too much, and fail the test
        with what to do where it cannot be measured.
        """
        __tracebackhide__ = True
        self.was_called = True
        call = {
            "at_least": at_least,
            "counters": counters,
            "command": command,
            "runs": runs,
            "timeout": timeout,
            "cwd": cwd,
            "env": env,
            "steps_from": steps_from,
            "sps_pattern": sps_pattern,
        }
        try:
            options = self._options(call)
            request = _floor_request(options)
            runs_made = self._measure(request)
            fails = _fails(request, runs_made)
            if fails and not callable(options.command):
                fails += f"\n`rlprof run {request.program.name}` shows what it spends its time on"
        except RlprofError as error:
            told = in_python(error)
        else:
            if fails:
                raise AssertionError(fails)
            return _measured(request.floor, runs_made)
        pytest.fail(told)

    def _options(self, call: Mapping[str, Any]) -> Options:
        marks = (
            Mark(marker.args, marker.kwargs) for marker in self._request.node.iter_markers("rlprof")
        )
        return options_of(call, marks, root=self._request.config.rootpath)

    def _measure(self, request: FloorRequest) -> tuple[FloorRun, ...]:
        runs = measure_apart(request, self._folders.mktemp("rlprof"), _own_environment())
        # As record_property does, which warns where the JUnit file is of today's default family.
        self._request.node.user_properties.extend(_properties(request.floor, runs))
        return runs


def _floor_request(options: Options) -> FloorRequest:
    pattern_of(options.sps_pattern)
    counted_function(options.steps_from)
    program = program_of(options.command, options.folder)
    return FloorRequest(
        program=Program(
            side=Side.HEAD,
            command=program.command,
            script=program.script,
            folder=options.folder,
            environment=_with(options.environment),
            name=program.name,
            is_alone=True,
        ),
        counting=Counting(
            options.sps_pattern, options.steps_from, counters=tuple(options.floor.counters)
        ),
        floor=options.floor,
        timeout_s=options.timeout_s,
    )


def _with(changes: Mapping[str, str | None]) -> dict[str, str]:
    changed = {**_own_environment(), **changes}
    return {name: value for name, value in changed.items() if value is not None}


def _own_environment() -> dict[str, str]:
    here = without_repository(os.environ)
    return {name: value for name, value in here.items() if not name.startswith(_NOT_PASSED_ON)}


def _fails(request: FloorRequest, runs: Sequence[FloorRun]) -> str:
    """Return why the test fails, in words; empty where it does not.

    Raises :class:`MeasureError` where other tests may be why.
    """
    above = [*exceeded(request.floor, runs)]
    if above:
        return "\n".join([f"{request.program.name} counts too much:", *above])
    slow = missed(request.floor, runs)
    if not slow:
        return ""
    beside = _other_workers()
    if beside:
        raise MeasureError(
            f"{request.program.name} was measured beside the tests of {beside} of pytest-xdist, so "
            f"that this says nothing: {slow}",
            slug="beside-other-tests",
            hint="run the tests of speed by themselves: pytest -n 0 -m rlprof",
        )
    return f"{request.program.name} is too slow: {slow}"


def _other_workers() -> str:
    """pytest-xdist's, in words; empty when this process tests alone."""
    number = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "")
    others = int(number) - 1 if number.isdecimal() else 0
    return wording.counted(others, "other worker", "other workers") if others > 0 else ""


def _measured(floor: Floor, runs: Sequence[FloorRun]) -> Measured:
    best = fastest(runs)
    return Measured(
        sps=None if best.sps is None else best.sps.median,
        sps_low=None if best.sps is None else best.sps.low,
        sps_high=None if best.sps is None else best.sps.high,
        unit=best.unit,
        source=best.source,
        steps=best.steps,
        counters=_most(floor, runs),
        rates=tuple(run.sps.median for run in runs if run.sps is not None),
    )


def _most(floor: Floor, runs: Sequence[FloorRun]) -> dict[str, float]:
    names = [*floor.counters, *(name for run in runs for name in run.counters)]
    return {name: max(run.counters.get(name, 0.0) for run in runs) for name in names}


def _properties(floor: Floor, runs: Sequence[FloorRun]) -> Iterator[tuple[str, object]]:
    """Yield the properties of the test's report, and so of a JUnit file."""
    measured = _measured(floor, runs)
    yield "rlprof", _in_words(floor, runs)
    if measured.sps is not None:
        yield (
            ("sps" if measured.unit == "steps" else wording.rate_unit(fastest(runs))),
            measured.sps,
        )
    for name in floor.counters:
        yield name, measured.counters[name]


def _in_words(floor: Floor, runs: Sequence[FloorRun]) -> str:
    """One line: ``912 sps, the fastest of 2 runs, at least 900; 0 gpu_syncs per step, at most 0``."""
    told = [*_rate_in_words(floor, runs)]
    found = _most(floor, runs)
    for name, most in floor.counters.items():
        told.append(f"{wording.count(found[name])} {name} per step, at most {wording.count(most)}")
    return wording.unglued("; ".join(told))


def _rate_in_words(floor: Floor, runs: Sequence[FloorRun]) -> Iterator[str]:
    best = fastest(runs)
    if best.sps is None:
        return
    made = f"{wording.rate(best.sps.median)} {wording.rate_unit(best)}"
    if len(runs) > 1:
        made += f", the fastest of {len(runs)} runs"
    yield made if floor.at_least is None else f"{made}, at least {wording.count(floor.at_least)}"


# --- the program: a command, or a function that is called in a fresh process --------------------

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
