"""What a test is told to do: never by options of a command line that it has not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlprof
from rlprof.cli.run import counted_function, pattern_of
from rlprof.errors import LaunchError, MeasureError, UsageError
from rlprof.pytest_plugin.hints import in_python
from rlprof.pytest_plugin.program import program_of

_GATE = Path(rlprof.__file__).with_name("gate")
_OF_A_COMMAND_LINE = re.compile(r"--[a-z]|rlprof run")


def hints_of(module: str) -> Iterator[tuple[str, str]]:
    """Slug and hint, as source, of each error that ``module`` raises."""
    for call in ast.walk(ast.parse((_GATE / f"{module}.py").read_text())):
        if isinstance(call, ast.Call):
            told = {it.arg: it.value for it in call.keywords}
            if isinstance(told.get("slug"), ast.Constant):
                yield ast.literal_eval(told["slug"]), ast.unparse(told["hint"])


@pytest.mark.parametrize(("slug", "hint"), [*hints_of("runner"), *hints_of("launches")])
def test_what_a_run_may_fail_with(slug, hint):
    error = MeasureError("It happened", slug=slug, hint=hint)

    assert not _OF_A_COMMAND_LINE.search(in_python(error))


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
