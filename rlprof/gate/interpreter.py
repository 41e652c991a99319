"""The Python that a command uses, and what it says when it is asked."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*t?")
_TIMEOUT_S: Final = 30


def interpreter_of(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The Python that a command, started here, will most likely use."""
    if command and _PYTHON.fullmatch(Path(command[0]).name):
        # Its path is absolute, since it is asked in another folder; of a link the link itself, as
        # that is what makes a virtual environment.
        return str(Path(command[0]).absolute()) if "/" in command[0] else command[0]
    path = environment.get("PATH")
    found = shutil.which("python", path=path) or shutil.which("python3", path=path)
    return None if found is None else str(Path(found).absolute())


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
