"""The command line of ``rlprof check``: percentages, and options that cannot do anything."""

from __future__ import annotations

import pytest

from rlprof.cli.check_request import share_of
from rlprof.errors import EXIT_USAGE, UsageError
from tests.git_repository import GitRepository


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), (" 0.5 % ", 0.005), ("12.5%", 0.125)])
def test_percentages(text, share):
    assert share_of(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["5", "0.05", "%", "5%%", "much", "nan%", "0%", "-3%", "100%"])
def test_what_is_no_percentage_is_refused(text):
    with pytest.raises(UsageError) as error:
        share_of(text)

    assert error.value.slug == "bad-min-effect"


@pytest.fixture
def project(tmp_path, monkeypatch) -> GitRepository:
    """The working directory, with a training that is committed."""
    repository = GitRepository.new(tmp_path / "project")
    repository.commit("raise SystemExit('it ran')")
    monkeypatch.chdir(repository.folder)
    return repository


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        (["train.py"], "no-base"),
        (["--base", "main", "--baseline", "perf.json", "train.py"], "no-base"),
        (["--base", "main"], "no-target"),
        (["--base", "main", "missing.py"], "script-missing"),
        (["--base-command", "python a.py", "--prepare", "make", "train.py"], "useless-option"),
        (["--baseline", "perf.json", "--profile", "train.py"], "useless-option"),
        (["--base", "main", "--artifacts", "made", "train.py"], "useless-option"),
        (["--base", "main", "--counters-only", "--pairs", "9", "train.py"], "useless-option"),
        (["--save-baseline", "perf.json", "--json", "check.json", "train.py"], "useless-option"),
        (["--base", "no-such-branch", "train.py"], "base-unknown"),
        (["--base", "main", "--json", "o", "--markdown", "./o", "train.py"], "same-output"),
        (["--baseline", "perf.json", "--interleave", "train.py"], "useless-option"),
        (["--base", "main", "--interleave", "--counters-only", "train.py"], "useless-option"),
        (["--base", "--output=/tmp/x", "train.py"], "base-unknown"),
        (["--base-command", "'", "train.py"], "bad-base-command"),
        (["--base", "main", "--min-effect", "much", "train.py"], "bad-min-effect"),
        (["--base", "main", "--pairs", "2", "train.py"], "bad-pairs"),
        (["--base", "main", "--counter", "gpu_syncs", "train.py"], "bad-counter"),
        (["--baseline", "perf.json", "train.py"], "baseline-missing"),
    ],
)
def test_command_lines_that_cannot_be_meant(command_line, project, options, slug):
    answer = command_line("check", *options)

    assert answer.exit_code == EXIT_USAGE, answer.stderr
    assert f"rlprof explain {slug}" in answer.stderr
    assert "it ran" not in answer.stderr
    assert project.git("worktree", "list").count("\n") == 0


def test_an_option_behind_the_script_is_told(command_line, project):
    answer = command_line("check", "train.py", "--base", "main")

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof explain no-base" in answer.stderr
    assert "--base stands behind what to run" in answer.stderr


def test_a_folder_without_a_repository(command_line, tmp_path, monkeypatch):
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)

    answer = command_line("check", "--base", "main", "train.py")

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof explain not-a-repository" in answer.stderr
