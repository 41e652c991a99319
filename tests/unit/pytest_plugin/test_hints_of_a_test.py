"""What a test is told to do: never by options of a command line that it has not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import rlprof
from rlprof.cli.target import counted_function, pattern_of
from rlprof.errors import LaunchError, MeasureError, UsageError
from rlprof.gate.planned_run import PlannedRun
from rlprof.gate.program import Counting, Side
from rlprof.gate.runner import check_end
from rlprof.pytest_plugin.options import in_python
from rlprof.pytest_plugin.speed_test import program_of
from tests.check_factory import a_program

_GATE = Path(rlprof.__file__).with_name("gate")
_OF_A_COMMAND_LINE = re.compile(r"--[a-z]|rlprof run")

_OF_A_RUN = ("runner", "processes", "measured_run")
"""Modules of the gate whose errors a test may meet."""

_OF_PAIRS_ALONE = ("base-imports-head", "turns-on-gpu", "turns-too-short")
"""A test has no base."""


def errors_of(module: str) -> Iterator[tuple[str, str | None]]:
    """Slug and hint of each error that ``module`` raises by its name; None for a hint that is put together."""
    for call in ast.walk(ast.parse((_GATE / f"{module}.py").read_text())):
        if isinstance(call, ast.Call):
            told = {keyword.arg: keyword.value for keyword in call.keywords}
            slug, hint = told.get("slug"), told.get("hint")
            if isinstance(slug, ast.Constant) and slug.value not in _OF_PAIRS_ALONE:
                yield str(slug.value), str(hint.value) if isinstance(hint, ast.Constant) else None


ERRORS = [error for module in _OF_A_RUN for error in errors_of(module)]


@pytest.mark.parametrize("module", _OF_A_RUN)
def test_every_module_of_a_run_has_errors(module):
    assert [*errors_of(module)] != []


@pytest.mark.parametrize(("slug", "hint"), [error for error in ERRORS if error[1] is not None])
def test_what_a_run_may_fail_with(slug, hint):
    error = MeasureError("It happened", slug=slug, hint=hint)

    assert not _OF_A_COMMAND_LINE.search(in_python(error))


def test_hints_that_are_put_together_have_tests_of_their_own():
    assert {slug for slug, hint in ERRORS if hint is None} == {"program-failed"}


@pytest.fixture
def failing(tmp_path):
    """How a run ends that printed something and failed, as a test is told."""

    def _failing(printed: str) -> str:
        program = replace(a_program(Side.HEAD, name="train()"), is_alone=True)
        run = PlannedRun(program, 1, tmp_path, Counting())
        run.log.write_text(printed)
        run.answer.write_text('{"exit_code": 1}')
        with pytest.raises(MeasureError, match="failed with exit code 1") as caught:
            check_end(run)
        assert caught.value.slug == "program-failed"
        return in_python(caught.value)

    return _failing


def test_a_training_that_fails(failing):
    told = failing("ValueError: no such environment\n")

    assert "run it by itself to see why" in told
    assert "@pytest.mark" not in told
    assert not _OF_A_COMMAND_LINE.search(told)


def test_a_module_that_is_missing_points_to_another_interpreter(failing):
    told = failing("ModuleNotFoundError: No module named 'no_such_library'\n")

    assert '@pytest.mark.rlprof("--", "path/to/python", "train.py")' in told
    assert not _OF_A_COMMAND_LINE.search(told)


def test_a_script_that_no_python_runs(tmp_path):
    (tmp_path / "train.sh").write_text("#!/bin/sh\n")

    with pytest.raises(LaunchError) as caught:
        program_of(("train.sh",), tmp_path)

    assert '@pytest.mark.rlprof("--", "./train.sh")' in in_python(caught.value)
    assert not _OF_A_COMMAND_LINE.search(in_python(caught.value))


def test_options_that_say_nothing():
    with pytest.raises(UsageError) as pattern:
        pattern_of("sps")
    with pytest.raises(UsageError) as function:
        counted_function("step", agent=True)

    told = [in_python(caught.value) for caught in (pattern, function)]

    assert "sps_pattern='sps' captures nothing" in told[0]
    assert "for example steps_from=envs.maze" in told[1]
    assert not any(map(_OF_A_COMMAND_LINE.search, told))
