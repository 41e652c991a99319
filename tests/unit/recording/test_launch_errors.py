from __future__ import annotations

from rlprof.recording.program.launch_errors import not_started


def test_a_program_that_is_not_there():
    error = not_started(["./run.sh", "--fast"], FileNotFoundError(2, "No such file or directory"))

    assert str(error) == "cannot start ./run.sh: No such file or directory"


def test_a_variable_of_the_shell_is_told_without_its_value():
    command = ["API_KEY=s3cr3tBASEcmd77", "python", "train.py"]

    error = not_started(command, FileNotFoundError(2, "No such file or directory"))

    assert str(error) == "cannot start API_KEY=[redacted]: No such file or directory"
    assert error.hint == "no shell reads the command: put `env` before API_KEY=[redacted]"
