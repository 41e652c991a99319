from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rlprof
import rlprof.cli.commands
from rlprof.cli.commands import COMMANDS
from rlprof.errors import (
    EXIT_ERROR,
    EXIT_LAUNCH_FAILED,
    EXIT_NOT_MEASURED,
    EXIT_USAGE,
    LaunchError,
)
from rlprof.resources import HOME

HEAVY = {"jinja2", "msgspec", "numpy", "psutil", "rich", "sqlite3"}
"""Together they take longer to import than all of ``rlprof --help`` may take."""


def fail_with(monkeypatch, error: BaseException) -> None:
    """The command line meets ``error``, wherever it comes from."""

    def app(**_):
        raise error

    monkeypatch.setattr(rlprof.cli.commands, "_app", lambda: app)


def test_version(command_line):
    assert command_line("--version") == (0, f"rlprof {rlprof.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.function.__name__)
def test_help_of_each_command_shows_its_examples(command_line, command):
    answer = command_line(command.name or command.function.__name__, "--help")

    assert answer.exit_code == 0
    for example in command.examples:
        assert f"\n    {example}\n" in answer.stdout


def test_overview_shows_whole_sentences_at_80_columns(command_line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    answer = command_line("--help")

    assert "..." not in answer.stdout.partition("Commands:")[2]
    assert all(len(line) <= 80 for line in answer.stdout.splitlines())


def test_nothing_heavy_is_imported_for_the_help():
    program = "import sys, rlprof.cli.commands; rlprof.cli.commands._app(); print(*sys.modules)"

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )

    assert HEAVY.isdisjoint(answer.stdout.split())


@pytest.mark.parametrize(
    "words", [["--nonsense"], ["check", "--base", "main", "--nonsense"], ["report", "none"]]
)
def test_the_exit_code_is_the_same_where_stderr_takes_nothing(words):
    def ended(stderr: str) -> int:
        with Path(stderr).open("w") as stream:
            command = [sys.executable, "-m", "rlprof", *words]
            return subprocess.run(command, stderr=stream, timeout=30, check=False).returncode

    assert ended("/dev/full") == ended(os.devnull) != 0


def test_error_says_what_happened_and_what_to_do(command_line, monkeypatch):
    fail_with(monkeypatch, LaunchError("train.py is gone", slug="script-missing", hint="look"))

    answer = command_line("run", "train.py")

    assert answer == (
        EXIT_LAUNCH_FAILED,
        "",
        "rlprof: error: train.py is gone\n  look\n  more: rlprof explain script-missing\n",
    )


def test_bug_keeps_its_traceback_and_asks_for_a_report(command_line, monkeypatch):
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))

    answer = command_line("report")

    assert answer.exit_code == EXIT_ERROR
    assert "Traceback" in answer.stderr
    assert "ZeroDivisionError: division by zero" in answer.stderr
    assert f"{HOME}/issues" in answer.stderr


@pytest.mark.parametrize("line", ["no-such-command", "run --no-such-option train.py", "flame a b"])
def test_bad_usage_ends_with_its_own_code(command_line, line):
    answer = command_line(*line.split())

    assert answer.exit_code == EXIT_USAGE
    assert answer.stderr.startswith("Usage: rlprof")


@pytest.mark.parametrize(
    "start", [["-m", "rlprof"], ["-c", "from rlprof.cli.commands import main; main()"]]
)
def test_both_ways_to_start_it(start):
    answer = subprocess.run(
        [sys.executable, *start, "--version"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    assert answer.stdout == f"rlprof {rlprof.__version__}\n"


@pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="needs /dev/full, as Linux has it"
)
@pytest.mark.parametrize("command", ["--help", "run --help", "--version", "explain", "examples"])
def test_an_output_that_takes_nothing_is_told(command):
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "rlprof", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=30,
            check=False,
        )

    assert answer.returncode == EXIT_ERROR
    assert answer.stderr.startswith("rlprof: error: cannot write to standard output: No space left")
    assert "Traceback" not in answer.stderr


def test_a_page_for_an_output_that_was_closed(command_line, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)

    answer = command_line("explain", "gae-loop")

    assert answer.exit_code == EXIT_ERROR
    assert "rlprof explain cannot-write" in answer.stderr


@pytest.mark.parametrize(
    "line",
    ["report", "history", "doctor", "flame -o flame.svg", "diff a b", "export -o a.collapsed"],
)
def test_a_working_directory_that_is_gone_is_told(command_line, tmp_path, monkeypatch, line):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    answer = command_line(*line.split())

    assert answer.exit_code == EXIT_USAGE
    assert "rlprof explain no-working-directory" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("command", ["--help", "examples"])
def test_reader_that_goes_away_is_no_error(command):
    reading, writing = os.pipe()
    os.close(reading)

    answer = subprocess.run(
        [sys.executable, "-m", "rlprof", command],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    os.close(writing)

    assert answer.stderr == ""


@pytest.mark.parametrize(
    ("command", "code"), [("history", EXIT_ERROR), ("check", EXIT_NOT_MEASURED)]
)
def test_a_path_that_nobody_may_look_at_is_no_bug(command_line, monkeypatch, command, code):
    fail_with(monkeypatch, PermissionError(errno.EACCES, "Permission denied", "/runs/of/root"))

    answer = command_line(command)

    assert answer.exit_code == code
    assert "cannot use /runs/of/root: Permission denied" in answer.stderr
    assert "bug" not in answer.stderr


@pytest.mark.parametrize("arguments", [("history", "n" * 300), ("diff", "n" * 300, "x")])
def test_a_name_that_is_too_long_is_no_bug(command_line, arguments):
    answer = command_line(*arguments)

    assert "File name too long" in answer.stderr
    assert "rlprof explain path-not-usable" in answer.stderr


INTERRUPTED = """
import os, signal, sys
import typer.main
signal.signal(signal.SIGINT, signal.default_int_handler)
typer.main.get_group = lambda app: os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["rlprof", "history"]
from rlprof.__main__ import main
main()
"""


def test_an_interrupt_while_the_command_line_is_read_ends_it_without_a_word(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )

    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
