"""The command that is started for a target, and its name."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlprof.cli.target_words import Target, TargetKind
from rlprof.errors import LaunchError, UsageError
from rlprof.inputs import open_input

if TYPE_CHECKING:
    from rlprof.gate.program import Program

_PYTHON_SUFFIXES: Final = (".py", ".pyz", ".zip")


def command_of(target: Target, python: Path | None) -> tuple[str, ...]:
    """The target as it is started: with the interpreter that it needs.

    Raises ``UsageError`` for what cannot be meant, ``LaunchError`` when there is no such script.
    """
    if target.kind is TargetKind.COMMAND:
        if python is not None:
            raise UsageError(
                "--python does not go with a command after --",
                slug="python-and-command",
                hint="name the interpreter in the command itself",
            )
        return target.words
    interpreter = _interpreter(python)
    if target.kind is TargetKind.MODULE:
        return (interpreter, "-m", *target.words)
    _check_script(Path(target.words[0]))
    return (interpreter, *target.words)


def _interpreter(python: Path | None) -> str:
    """The one asked for, else that of the active virtual environment, else ours."""
    if python is not None:
        found = shutil.which(str(python))
        if found is None:
            raise LaunchError(
                f"the interpreter {python} does not exist or cannot be executed",
                slug="target-not-started",
                hint="give the path of a Python executable, for example .venv/bin/python",
            )
        return found
    active = os.environ.get("VIRTUAL_ENV")
    beside = os.path.join(active, "bin", "python") if active else ""  # noqa: PTH118 - as typed
    return beside if os.access(beside, os.X_OK) else sys.executable


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return "gone"


def _check_script(script: Path) -> None:
    try:
        # Not a pipe, as in `rlprof run <(...)`: what is read here would be missing for Python.
        if script.exists() and (script.suffix in _PYTHON_SUFFIXES or not script.is_file()):
            return
        with open_input(script) as file:
            start = file.read(128)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LaunchError(
            f"the script {script} does not exist",
            slug="script-missing",
            hint="a script that comes by stdin needs the whole command: -- python -"
            if str(script) == "-"
            else f"check the path (the working directory is {_working_directory()}); "
            "modules start with -m, other programs after --",
        ) from error
    except OSError as error:
        raise LaunchError(
            f"the script {script} cannot be read: {error.strerror}",
            slug="script-missing",
            hint="check its permissions",
        ) from error
    line = start.split(b"\n")[0]
    if start.startswith(b"\x7fELF") or (line.startswith(b"#!") and b"python" not in line):
        raise LaunchError(
            f"{script} is not a Python script",
            slug="not-python",
            hint=f"start it as a command, after two dashes: -- {script}",
        )


def script_name(target: Target) -> str:
    """How the run is called, without secrets: a shell's ``TOKEN=… python train.py`` has one for its program."""
    from rlprof.recording.redaction.arguments import redact_argument

    word = redact_argument(target.words[0])
    return word if target.kind is TargetKind.MODULE else Path(word).name


def program_to_measure(
    target: Target,
    python: Path | None,
    environment: Mapping[str, str],
    *,
    name: str,
    is_alone: bool,
) -> Program:
    """The target as the gate runs it, in the working directory, on the side of head; raises ``UsageError``."""
    from rlprof.gate.program import Program, Side

    try:
        command = command_of(target, python)
    except LaunchError as error:
        # Nothing has been tried: it is the command line that names what is not there.
        raise error.converted_to(UsageError) from error
    return Program(
        side=Side.HEAD,
        command=command,
        script=script_name(target),
        folder=Path.cwd(),
        environment=environment,
        name=name,
        is_alone=is_alone,
    )
