"""The fixture ``assert_sps``: measures what a test asks for, tells what came of it, and fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from rlprof.cli.target import counted_function, pattern_of
from rlprof.errors import MeasureError, RlprofError
from rlprof.gate.floor import (
    Floor,
    FloorRequest,
    FloorRun,
    exceeded,
    fastest,
    measure_apart,
    missed,
)
from rlprof.gate.program import Counting, Program, Side
from rlprof.pytest_plugin.options import Mark, Options, in_python, options_of
from rlprof.pytest_plugin.program import program_of
from rlprof.recording.git_environment import without_repository
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
    """Why the test fails, in words; empty where it does not.

    Raises :class:`MeasureError` where other tests may be why.
    """
    above = exceeded(request.floor, runs)
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
