"""A program to measure: what is started, where, in which environment, and what is counted of it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.gate.interpreter import is_python
from rlprof.recording.redaction.arguments import redact_arguments


def as_typed(command: Sequence[str]) -> str:
    """``command`` on one line as a shell takes it, for anybody to read: without its secrets."""
    return shlex.join(redact_arguments(command))


class Side(Enum):
    BASE = "base"
    """What head is held against."""
    HEAD = "head"
    """What is judged."""


class Checkout(NamedTuple):
    """Working trees of one repository, by their roots: that of base was made for it."""

    own: Path
    other: Path
    """Of the other side."""


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
    """What it is, for people: ``origin/main (abc1234)``."""
    is_alone: bool = False
    """Whether nothing runs in turn with it."""
    checkout: Checkout | None = None
    """None where the sides are two commands, or there is but one."""

    @property
    def in_worktree(self) -> bool:
        """Whether it runs in one that was made for it, where files lack that git does not track."""
        return self.checkout is not None and self.side is Side.BASE

    @property
    def told_command(self) -> tuple[str, ...]:
        """Word by word, without its secrets: what is told of it lies in repositories and summaries of jobs."""
        return redact_arguments(self.command)

    def run_name(self, number: int) -> str:
        """Its run, for messages, counted from 1: ``base (main), in pair 3,`` or ``run 3 of train.py``."""
        if self.is_alone:
            return f"run {number} of {self.name}"
        return f"{self.side.value} ({self.name}), in pair {number},"


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted: steps, if the program is not to be asked, and what else was asked for."""

    pattern: str | None = None
    """Regular expression that finds steps or sps in its output."""
    function: str | None = None
    """``module:function`` whose calls are steps."""
    counters: tuple[str, ...] = ()
    """Names of those that were asked for, and so must be told."""
    steps_alone: bool = False
    """Whether a run that is only counted carries as little of rlprof as steps can be told with."""


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
