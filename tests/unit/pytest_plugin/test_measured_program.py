"""What is started for a command, and for a function."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from rlprof.errors import LaunchError, RlprofError, UsageError
from rlprof.pytest_plugin.speed_test import program_of


def train() -> None:
    print("trained", sys.argv)


def train_for(steps: int) -> None:
    raise NotImplementedError  # It is refused before anybody calls it.


async def train_later() -> None:
    raise NotImplementedError  # It is refused before anybody calls it.


class Trainer:
    @staticmethod
    def train() -> None:
        print("trained by a class")

    def train_self(self) -> None:
        raise NotImplementedError  # It is refused before anybody calls it.


def output_of(command: tuple[str, ...], folder: Path) -> str:
    answer = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_a_script_is_found_from_the_folder_it_starts_in(tmp_path):
    (tmp_path / "train.py").write_text("print('trained')")

    program = program_of(("train.py", "--steps", "9"), tmp_path)

    script = str(tmp_path / "train.py")
    assert program.command == (sys.executable, script, "--steps", "9")
    assert program.name == "train.py --steps 9"


def test_its_name_has_no_secrets(tmp_path):
    program = program_of(("--", "bash", "train.sh", "--api-key", "hunter2"), tmp_path)

    assert program.command[-1] == "hunter2"
    assert program.name == "-- bash train.sh --api-key '[redacted]'"


def test_a_module_and_a_command(tmp_path):
    assert program_of(("-m", "package.train", "x"), tmp_path).command == (
        *(sys.executable, "-m", "package.train", "x"),
    )
    assert program_of(("--", "bash", "train.sh"), tmp_path).command == ("bash", "train.sh")


@pytest.mark.parametrize("command", [("--",), ("-m",), ("--steps", "9")])
def test_words_that_name_nothing(tmp_path, command):
    with pytest.raises(UsageError) as caught:
        program_of(command, tmp_path)

    assert caught.value.slug == "no-target"


def test_a_script_that_is_missing(tmp_path):
    with pytest.raises(LaunchError, match=str(tmp_path)):
        program_of(("train.py",), tmp_path)


def test_a_function_is_called_in_another_process(tmp_path):
    program = program_of(train, tmp_path)

    assert program.name == "train()"
    assert output_of(program.command, tmp_path) == f"trained ['{__file__}']"


def test_a_function_of_a_class(tmp_path):
    assert output_of(program_of(Trainer.train, tmp_path).command, tmp_path) == "trained by a class"


def local_function():
    def local() -> None:
        raise NotImplementedError  # It is refused before anybody calls it.

    return local


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (local_function(), "cannot be imported"),
        (lambda: None, "cannot be imported"),
        (partial(train_for, 3), "cannot be imported"),
        (Trainer().train_self, "cannot be imported"),
        (train_for, "missing a required argument: 'steps'"),
        (train_later, "it is a coroutine"),
    ],
)
def test_functions_that_cannot_be_called(tmp_path, function, why):
    with pytest.raises(RlprofError, match=why) as caught:
        program_of(function, tmp_path)

    assert caught.value.slug == "bad-speed-test"
