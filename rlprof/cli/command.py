"""A target: the words on a command line where rlprof's own options end and the user's program begins, and the command
that is started for it.

``rlprof run`` follows the rules of ``python`` itself. Options before the script are rlprof's
and are checked; everything from the script on is the target's, unread, even where it looks
like an option of rlprof::

    rlprof run --label a100 train.py --lr 3e-4      script train.py
    rlprof run -m my_package.train env=ant          module, as python -m
    rlprof run -- torchrun train.py                 command, as typed

It imports next to nothing: where the rest of the command line cannot be imported, the training starts by this.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rlprof.errors import LaunchError, UsageError
from rlprof.inputs import open_input

if TYPE_CHECKING:
    from rlprof.gate.program import Program


class TargetKind(Enum):
    SCRIPT = "script"
    """A Python file, started with the chosen interpreter."""
    MODULE = "module"
    """As ``python -m`` takes it."""
    COMMAND = "command"
    """Any program, started as typed."""


class Target(NamedTuple):
    kind: TargetKind
    words: tuple[str, ...]
    """The script, module or program first, then its arguments; empty when none was given."""


def split(args: list[str], value_options: frozenset[str]) -> tuple[list[str], Target]:
    """``args`` cut into rlprof's own and the target."""
    position = 0
    while position < len(args):
        word = args[position]
        if word == "--":
            return args[:position], Target(TargetKind.COMMAND, tuple(args[position + 1 :]))
        if word == "-m":
            return args[:position], Target(TargetKind.MODULE, tuple(args[position + 1 :]))
        if not word.startswith("-") or word == "-":
            return args[:position], Target(TargetKind.SCRIPT, tuple(args[position:]))
        position += 2 if _takes_next_word(word, value_options) else 1
    return args, Target(TargetKind.SCRIPT, ())


def _takes_next_word(word: str, value_options: frozenset[str]) -> bool:
    """Tell whether the value of option ``word`` is the next word, not a part of it (``--a=1``, ``-o1``)."""
    if word.startswith("--"):
        return word in value_options
    for position, letter in enumerate(word[1:], start=1):
        if f"-{letter}" in value_options:
            return position == len(word) - 1
    return False


# --- the command that is started for a target, and its name -------------------------------------

_PYTHON_SUFFIXES: Final = (".py", ".pyz", ".zip")


def command_of(target: Target, python: Path | None) -> tuple[str, ...]:
    """The target as it is started: with the interpreter that it needs.

    Raises ``UsageError`` for what cannot be meant, ``LaunchError`` when there is no such script.
    """
    if target.kind is TargetKind.COMMAND and not _is_unexecutable_script(target.words[0]):
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


def _is_unexecutable_script(word: str) -> bool:
    """Tell a Python file that the system would not start as a command: ``rlprof run -- train.py`` means the script."""
    return word.endswith(".py") and shutil.which(word) is None and Path(word).is_file()


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
    """Return how the run is called, without secrets: a shell's ``TOKEN=… python train.py`` has one for its program."""
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
