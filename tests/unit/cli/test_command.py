"""What is started, and what cannot be."""

from __future__ import annotations

import os

import pytest

from rlprof.cli.command import Target, TargetKind, command_of
from rlprof.cli.run import _interval_us
from rlprof.cli.target import counted_function, pattern_of
from rlprof.errors import LaunchError, UsageError


def refused(word: str) -> LaunchError:
    with pytest.raises(LaunchError) as error:
        command_of(Target(TargetKind.SCRIPT, (word,)), None)
    return error.value


@pytest.mark.parametrize("name", ["train.py", "file/train.py"])
def test_a_script_that_is_not_there(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()

    assert (refused(name).slug, refused(name).message) == (
        "script-missing",
        f"the script {name} does not exist",
    )


def test_a_script_that_cannot_be_looked_at():
    assert "cannot be read: File name too long" in refused("a" * 300).message


def test_a_script_that_comes_by_stdin_has_its_way():
    assert "-- python -" in refused("-").hint


def test_another_program_is_started_as_a_command(tmp_path):
    (tmp_path / "train.sh").write_text("#!/bin/sh\n")

    error = refused(str(tmp_path / "train.sh"))

    assert error.slug == "not-python"
    assert f"-- {tmp_path}" in error.hint


def test_two_dashes_before_a_script_that_cannot_be_started_mean_the_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    (tmp_path / "launch.py").touch(mode=0o700)

    def command(word: str) -> tuple[str, ...]:
        return command_of(Target(TargetKind.COMMAND, (word, "--lr", "1")), None)

    assert command("train.py")[1:] == ("train.py", "--lr", "1")
    assert command("./train.py")[1:] == ("./train.py", "--lr", "1")
    assert command("./launch.py") == ("./launch.py", "--lr", "1")
    assert command("missing.py") == ("missing.py", "--lr", "1")


@pytest.mark.parametrize(
    "text", ["Maze.step", "envs:", "a/b.py:step", "envs:step()", "__main__:Maze.step"]
)
def test_a_function_whose_calls_cannot_be_counted(text):
    with pytest.raises(UsageError) as error:
        counted_function(text)

    assert error.value.slug == "bad-steps-from"
    is_of_the_script = "call rlprof.step(n) in the script" in error.value.hint
    assert is_of_the_script is text.startswith("__main__")


@pytest.mark.parametrize("text", ["fast", "1us"])
def test_an_interval_at_which_nothing_can_be_sampled(text):
    with pytest.raises(UsageError) as error:
        _interval_us(text)

    assert error.value.slug == "bad-interval"


@pytest.mark.parametrize("text", ["(a", "(a){99999999999999}", "no group"])
def test_a_pattern_that_can_find_nothing(text):
    with pytest.raises(UsageError) as error:
        pattern_of(text)

    assert error.value.slug == "bad-pattern"


def test_a_pattern_of_any_bytes():
    assert pattern_of(os.fsdecode(b"\xff(\\d+)\xfe")).match(os.fsdecode(b"\xff42\xfe"))
