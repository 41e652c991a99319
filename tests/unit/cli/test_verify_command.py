from __future__ import annotations

import pytest

from rlprof.errors import EXIT_USAGE
from tests.factories import a_run
from tests.git_repository import GitRepository
from tests.run_files import write_run

LOOP = "/home/researcher/project/train.py:40 train"


@pytest.fixture
def project(tmp_path, monkeypatch) -> GitRepository:
    """A working directory with one commit, a change to it, and a run of that commit."""
    repository = GitRepository.new(tmp_path / "project")
    commit = repository.commit("print(1)")
    repository.write("print(2)")
    monkeypatch.chdir(repository.folder)
    runs = repository.folder / ".rlprof"
    runs.mkdir()
    run = a_run("train.py", steady_s=10).process("main", steps=5000).spends(9, LOOP)
    write_run(runs / "1.rlprof", run.with_run(git=commit[:7], label="stage-1").recording())
    return repository


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ((), "no-target"),
        (("missing.py",), "script-missing"),
        (("--pairs", "3", "train.py"), None),
        (("--base", "nowhere", "train.py"), "base-unknown"),
        (("--run", "stage-9", "train.py"), "no-run"),
        (("--run", "", "train.py"), "empty-path"),
        (("--run", "none.rlprof", "train.py"), "run-file-missing"),
        (("--run", "train.py", "train.py"), None),
        (("--finding", "gc-pressure", "train.py"), "no-promised-finding"),
        (("--steps-from", "nothing", "train.py"), "bad-steps-from"),
    ],
)
def test_what_cannot_be_verified_is_refused_before_anything_runs(
    command_line, project, words, slug
):
    answer = command_line("verify", *words)

    assert answer.exit_code == EXIT_USAGE, answer.stderr
    assert slug is None or f"rlprof explain {slug}" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "pair 1" not in answer.stderr


def test_a_tree_without_changes_holds_no_fix(command_line, project):
    project.git("checkout", "--quiet", "train.py")

    answer = command_line("verify", "train.py")

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof explain nothing-to-verify" in answer.stderr


def test_outside_of_a_repository_there_is_no_base(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")

    answer = command_line("verify", "train.py")

    assert answer.exit_code == EXIT_USAGE
    assert "put the program under git" in answer.stderr


def test_findings_are_completed_by_their_ids(command_line):
    from rlprof.cli.explain import complete_finding

    assert "eager-log-format" in complete_finding("eager")
    assert [*complete_finding("no-such")] == []
