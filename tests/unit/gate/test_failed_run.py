"""What is said of a run that failed: each its own way out, and none that would be refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlprof.errors import MeasureError
from rlprof.gate.planned_run import PlannedRun
from rlprof.gate.program import Checkout, Counting, Program, Side
from rlprof.gate.runner import check_end
from tests.check_factory import a_program

NO_MODULE = "ModuleNotFoundError: No module named 'no_such_library'"


@pytest.fixture
def in_a_worktree(tmp_path):
    return replace(a_program(Side.BASE), checkout=Checkout(tmp_path / "base", tmp_path / "project"))


@pytest.fixture
def hint(tmp_path):
    """Of a run of a program that printed something and failed."""

    def _hint(program: Program, printed: str) -> str:
        run = PlannedRun(program, 1, tmp_path, Counting())
        run.log.write_text(f"{printed}\n")
        run.answer.write_text('{"exit_code": 1}')
        with pytest.raises(MeasureError) as failed:
            check_end(run)
        assert failed.value.slug == "program-failed"
        assert printed in failed.value.message
        return failed.value.hint

    return _hint


@pytest.mark.parametrize("side", Side)
def test_only_what_has_a_worktree_is_prepared(hint, in_a_worktree, side):
    alone = a_program(side)

    assert "--prepare" in hint(in_a_worktree, "ValueError: no data")
    assert hint(alone, "ValueError: no data") == "run it by itself to see why"


@pytest.mark.parametrize("side", Side)
def test_a_module_that_is_missing_points_to_the_interpreter(hint, in_a_worktree, side):
    alone = a_program(side)

    assert hint(alone, NO_MODULE) == (
        "python has no such module: --python names the interpreter of the training"
    )
    assert hint(in_a_worktree, NO_MODULE).endswith(
        "the training, and --prepare builds what base lacks in its worktree"
    )


def test_what_it_printed_is_told_without_the_secrets_of_its_command_line(tmp_path):
    program = replace(a_program(Side.HEAD), command=("python", "train.py", "--api-key", "hunter22"))
    run = PlannedRun(program, 1, tmp_path, Counting())
    run.log.write_text("error: unrecognized arguments: hunter22\n")
    run.answer.write_text('{"exit_code": 2}')

    with pytest.raises(MeasureError) as failed:
        check_end(run)

    assert "unrecognized arguments: [redacted]" in failed.value.message
    assert "hunter22" not in failed.value.message


def test_what_it_printed_is_told_without_values_that_are_named_as_secrets(tmp_path):
    """The last lines of a program go to summaries and artifacts of a CI."""
    run = PlannedRun(a_program(Side.HEAD), 1, tmp_path, Counting())
    run.log.write_text(
        "connecting with password=hunter22 to postgres://u:hunter22@host\n"
        "Authorization: Bearer hunter22\n"
        "{'api_key': 'hunter22', 'lr': 3}\n"
        "ValueError: no such reward\n"
    )
    run.answer.write_text('{"exit_code": 1}')

    with pytest.raises(MeasureError) as failed:
        check_end(run)

    assert "hunter22" not in failed.value.message
    assert "'lr': 3" in failed.value.message
    assert "ValueError: no such reward" in failed.value.message
