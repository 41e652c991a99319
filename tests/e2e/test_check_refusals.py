"""What ``rlprof check`` refuses and what it cannot measure: each its own message and exit code."""

from __future__ import annotations

import json
import sys

import pytest

from tests.checked_repository import NOT_MEASURED, PASS, USAGE, waiting


def test_a_base_that_there_is_not(repository):
    repository.commit(waiting())

    answer = repository.check("--base", "no-such-branch", "train.py")

    assert answer.fails_with(USAGE, "base-unknown")
    repository.assert_tidy()


def test_an_option_that_only_a_check_has_is_told_too(repository):
    repository.commit("import rlprof\nrlprof.step(10)\n")

    answer = repository.check("--base", "main", "--counters-only", "train.py", "--interleave")

    assert answer.code == PASS, answer.err
    assert "--interleave stands behind what to run" in answer.err


def test_a_module_that_is_missing_points_to_the_interpreter(repository):
    repository.commit("import no_such_library\n")

    answer = repository.check("--base", "main", "train.py")

    assert answer.fails_with(NOT_MEASURED, "program-failed")
    assert "--python names the interpreter" in answer.err
    assert "--prepare builds what base lacks" in answer.err


def test_a_failing_base_command_is_no_matter_of_worktrees(repository, tmp_path):
    (tmp_path / "old.py").write_text("raise SystemExit(3)")
    (tmp_path / "new.py").write_text(waiting())

    command = f"{sys.executable} old.py"
    answer = repository.check("--base-command", command, "new.py", folder=tmp_path)

    assert answer.fails_with(NOT_MEASURED, "program-failed")
    assert "worktree" not in answer.err
    assert "run it by itself to see why" in answer.err


@pytest.mark.parametrize(
    ("base", "head", "only", "slug", "said"),
    [
        ("raise ValueError('an old bug')", "", [], "program-failed", "an old bug"),
        (
            *("import rlprof; rlprof.step(9)", "raise SystemExit(3)", ["--counters-only"]),
            *("program-failed", "exit code 3"),
        ),
        ("print('hello')", "", [], "no-steps", "base (main"),
        ("import rlprof; rlprof.step(9)", "", [], "no-steady-rate", "9 steps"),
    ],
)
def test_programs_that_cannot_be_measured(repository, tmp_path, base, head, only, slug, said):
    repository.commit(base)
    repository.write(head or base)
    result = tmp_path / "check.json"

    answer = repository.check("--base", "main", *only, "--json", result, "train.py")

    assert answer.fails_with(NOT_MEASURED, slug)
    assert said in answer.err
    found = json.loads(result.read_text())
    assert (found["verdict"], found["failure"]["slug"]) == ("could-not-measure", slug)
    repository.assert_tidy()


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_script_that_the_base_does_not_have(repository, is_absolute):
    repository.commit("A project.\n", "README")
    repository.write(waiting())

    script = repository.folder / "train.py" if is_absolute else "train.py"
    answer = repository.check("--base", "main", script)

    assert answer.fails_with(NOT_MEASURED, "base-lacks-script")
    repository.assert_tidy()


CRASHING = """
import pathlib, sys, time
import rlprof

runs = pathlib.Path(sys.argv[1])
with runs.open("a") as file:
    file.write("x")
for _ in range(250):
    time.sleep(0.004)
    rlprof.step()
if runs.stat().st_size == 5:
    raise OSError("the disk is full")
"""


@pytest.mark.slow
def test_a_crash_in_the_third_pair_keeps_what_was_measured(repository, tmp_path):
    repository.commit(CRASHING)
    result = tmp_path / "check.json"

    answer = repository.check("--base", "main", "--json", result, "train.py", tmp_path / "runs")

    assert answer.fails_with(NOT_MEASURED, "program-failed")
    assert "in pair 3" in answer.err
    assert "the disk is full" in answer.err
    assert len(json.loads(result.read_text())["runs"]) == 4
    repository.assert_tidy()


def test_different_numbers_of_steps_are_different_work(repository):
    repository.commit(waiting(steps=300))
    repository.write(waiting(steps=400))

    answer = repository.check("--base", "main", "train.py")

    assert answer.fails_with(NOT_MEASURED, "different-steps")
    assert "pair 4" not in answer.err
    repository.assert_tidy()
