"""A program to measure: what is started, where, in which environment, with which Python, and what is counted of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

from rlprof.inputs import open_input
from rlprof.recording.redaction.arguments import redact_arguments, without_secrets_of


def as_typed(command: Sequence[str]) -> str:
    """``command`` on one line as a shell takes it, for anybody to read: without its secrets."""
    return shlex.join(redact_arguments(command))


class Side(Enum):
    BASE = "base"
    """Side that head is held against."""
    HEAD = "head"
    """Side that is judged."""


class Checkout(NamedTuple):
    """Working trees of one repository, by their roots: that of base was made for it."""

    own: Path
    other: Path
    """Root of the other side."""


@dataclass(frozen=True, slots=True)
class Program:
    side: Side
    command: tuple[str, ...]
    """With its interpreter."""
    script: str
    """How the run is called."""
    folder: Path
    """Where it is started."""
    environment: Mapping[str, str]
    """The whole of it."""
    name: str
    """Name for people: ``origin/main (abc1234)``."""
    is_alone: bool = False
    """True if nothing runs in turn with it."""
    checkout: Checkout | None = None
    """None where the sides are two commands, or there is but one."""

    @property
    def in_worktree(self) -> bool:
        """True if it runs in one that was made for it, where files lack that git does not track."""
        return self.checkout is not None and self.side is Side.BASE

    @property
    def redacted_command(self) -> tuple[str, ...]:
        """Word by word, without its secrets: what is told of it lies in repositories and summaries of jobs."""
        return redact_arguments(self.command)

    def without_secrets(self, printed: str) -> str:
        """Return what it printed, for the same eyes: argparse repeats the words that it does not know."""
        return without_secrets_of(self.command, printed)

    def run_name(self, number: int) -> str:
        """Its run, for messages, counted from 1: ``base (main), in pair 3,`` or ``run 3 of train.py``."""
        if self.is_alone:
            return f"run {number} of {self.name}"
        return f"{self.side.value} ({self.name}), in pair {number},"


@dataclass(frozen=True, slots=True)
class Counting:
    """Things to count: steps, if the program is not to be asked, and what else was asked for."""

    pattern: str | None = None
    """Regular expression that finds steps or sps in its output."""
    function: str | None = None
    """``module:function`` whose calls are steps."""
    counters: tuple[str, ...] = ()
    """Names of those that were asked for, and so must be told."""
    steps_alone: bool = False
    """True if a run that is only counted carries as little of rlprof as steps can be told with."""


# --- the file that a command starts: where a code host can show what has no line -----------------

_WITH_A_VALUE: Final = re.compile("[cmWX]")
"""Among the options of one letter that Python has, those before which others may stand."""


def script_file(command: Sequence[str], folder: Path) -> str:
    """The path of what ``command`` starts in ``folder``; empty where no file is named, as for an installed module."""
    here = folder.resolve()
    for name in _names(*command):
        path = os.path.normpath(here / name)
        if os.path.isfile(path):  # noqa: PTH113 - any word is looked up, and no error is wanted
            return path
    return ""


def _names(program: str, *words: str) -> Iterator[str]:
    """Files that it may be, the likeliest first."""
    if is_python(program):
        yield from _names_for_python(words)
        return
    # A launcher, or itself the script.
    yield from (word for word in words if word.endswith(".py"))
    if "/" in program:
        yield program


def _names_for_python(words: Sequence[str]) -> Iterator[str]:
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            yield from (word, f"{word}/__main__.py")
            return
        option = None if word.startswith("--") else _WITH_A_VALUE.search(word)
        if option is None:
            continue
        value = word[option.end() :] or next(left, "")
        if option[0] == "m":
            place = value.replace(".", "/")
            yield from (f"{place}.py", f"{place}/__main__.py")
        if option[0] in "cm":
            return


# --- the Python that a command uses, and what it says when it is asked ------------------------

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
        words = [part for part in words[1:] if not part.startswith("-") and "=" not in part]
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
