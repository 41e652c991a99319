"""The file that a command starts, as far as its words tell: where a code host can show what has no line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rlprof.gate.interpreter import is_python

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
