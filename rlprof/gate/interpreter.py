"""The Python that a command uses, and what it says when it is asked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rlprof.inputs import open_input

_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*t?")
_TIMEOUT_S: Final = 30

_START_BYTES: Final = 1024
"""More than the kernel reads of a script to find its interpreter."""

_BY_SHELL: Final = re.compile(rb"#!/bin/sh\n'{3}exec' ['\"]?([^'\"\n]+?)['\"]? \"\$0\" \"\$@\"")
"""How pip starts scripts whose interpreter has a blank in its path, or too long a one."""


def is_python(program: str) -> bool:
    """By its name, as a word of a command line has it."""
    return _PYTHON.fullmatch(Path(program).name) is not None


def interpreter_of(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The Python that a command, started here, will most likely use."""
    if command and is_python(command[0]):
        # Its path is absolute, since it is asked in another folder; of a link the link itself, as
        # that is what makes a virtual environment.
        return str(Path(command[0]).absolute()) if "/" in command[0] else command[0]
    path = environment.get("PATH")
    found = (
        (_interpreter_of_script(command[0], path) if command else None)
        or shutil.which("python", path=path)
        or shutil.which("python3", path=path)
    )
    return None if found is None else str(Path(found).absolute())


def _interpreter_of_script(word: str, path: str | None) -> str | None:
    """The Python that the first line of a script names, as of what a virtual environment installs."""
    script = shutil.which(word, path=path)
    if script is None:
        return None
    try:
        with open_input(Path(script)) as file:
            start = file.read(_START_BYTES)
    except OSError:
        return None
    by_shell = _BY_SHELL.match(start)
    if by_shell is not None:
        return os.fsdecode(by_shell[1])
    words = os.fsdecode(start.splitlines()[0][2:]).split() if start.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        # Its options, and what it sets, come before the program.
        words = [it for it in words[1:] if not it.startswith("-") and "=" not in it]
    if not words or not is_python(words[0]):
        return None
    return shutil.which(words[0], path=path)


def ask(python: str | None, question: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object that the program ``question`` prints last under ``python``; empty without an answer.

    Asked from another folder: ``-c`` imports from the working directory first, and users have modules
    of their own that are called ``json`` or ``platform``.
    """
    if python is None:
        return {}
    try:
        answer = subprocess.run(
            [python, "-c", question],
            cwd="/",
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
        told = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return {}
    return told if isinstance(told, dict) else {}
