from __future__ import annotations

import shutil

import pytest

from rlprof.errors import EXIT_ERROR, EXIT_USAGE
from rlprof.resources import examples_dir


def test_lists_each_example_with_its_title(command_line):
    answer = command_line("examples")

    assert answer.exit_code == 0
    titles = dict(line.split(maxsplit=1) for line in answer.stdout.splitlines())
    assert titles["bandit"].startswith("epsilon-greedy")
    assert titles["actor_learner"].startswith("DQN")


def test_copy_is_whole(command_line, tmp_path):
    answer = command_line("examples", "copy", "bandit", str(tmp_path / "mine"))

    assert answer.exit_code == 0
    originals = (examples_dir() / "bandit").rglob("*.py")
    for original in originals:
        copy = tmp_path / "mine" / original.relative_to(examples_dir() / "bandit")
        assert copy.read_bytes() == original.read_bytes()


def test_copy_goes_to_the_working_directory_by_default(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    command_line("examples", "copy", "bandit")

    assert (tmp_path / "bandit" / "ladder.toml").is_file()


def test_refuses_to_overwrite(command_line, tmp_path):
    (tmp_path / "bandit").mkdir()
    kept = tmp_path / "bandit" / "notes.txt"
    kept.write_text("mine")

    answer = command_line("examples", "copy", "bandit", str(tmp_path / "bandit"))

    assert answer.exit_code == EXIT_ERROR
    assert "exists already" in answer.stderr
    assert [*(tmp_path / "bandit").iterdir()] == [kept]


@pytest.mark.parametrize("named", ["typo/..", "typo/../mine"])
def test_a_folder_that_is_there_stays_by_whatever_way_it_is_named(
    named, command_line, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    kept = tmp_path / "mine" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("mine")

    answer = command_line("examples", "copy", "bandit", named)

    assert "exists already" in answer.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]


def test_what_somebody_put_there_meanwhile_stays(command_line, tmp_path, monkeypatch):
    real, kept = shutil.copytree, tmp_path / "bandit" / "notes.txt"

    def copies_slowly(*given, **options):
        kept.parent.mkdir()
        kept.write_text("mine")
        return real(*given, **options)

    monkeypatch.setattr(shutil, "copytree", copies_slowly)

    answer = command_line("examples", "copy", "bandit", str(tmp_path / "bandit"))

    assert answer.exit_code == EXIT_ERROR
    assert [*tmp_path.rglob("*")] == [kept.parent, kept]


def test_failed_copy_leaves_nothing(command_line, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")

    answer = command_line("examples", "copy", "bandit", str(blocked / "bandit"))

    assert answer.exit_code == EXIT_ERROR
    assert str(blocked / "bandit") in answer.stderr
    assert [*tmp_path.iterdir()] == [blocked]


def test_unknown_example_names_those_there_are(command_line):
    answer = command_line("examples", "copy", "chess")

    assert answer.exit_code == EXIT_USAGE
    assert "choose one of: " in answer.stderr
    assert "bandit" in answer.stderr
