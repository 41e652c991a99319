"""Names from the target made fit to show: odd characters spelled out, long ones cut, paths shortened."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

MAX_NAME: Final = 400
"""Characters kept of a name. Generated code has names of 10 kB, and a report repeats names."""

_INSTALLED = re.compile(r".*[/\\](?:site|dist)-packages[/\\](?P<rest>.+)", re.DOTALL)
_STDLIB = re.compile(r".*[/\\]lib(?:64)?[/\\]python3\.\d+t?[/\\](?P<rest>.+)", re.DOTALL)


@lru_cache(maxsize=65536)
def printable(text: str, limit: int = MAX_NAME) -> str:
    r"""``text`` with every unprintable character spelled out (``\n``, ``\x1b``, ``\udc80``).

    That covers what XML and terminals must not get: control characters, lone surrogates
    (paths that are not UTF-8) and marks that turn the direction of the text around.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _spelled_out(c) for c in text)
    return cut_middle(text, limit)


def _spelled_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def cut_middle(text: str, limit: int) -> str:
    """``text`` itself, or its two ends around an ellipsis, ``limit`` characters in all."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def columns(text: str) -> int:
    """Return how many character cells ``text`` takes in a fixed-width font."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@lru_cache(maxsize=65536)
def short_path(file: str, cwd: str) -> str:
    """``file`` as a reader knows it: from ``cwd`` on, from the package on, or the last parts of it."""
    # Packages first: a virtual environment often lies inside the project.
    for pattern in (_INSTALLED, _STDLIB):
        match = pattern.fullmatch(file)
        if match:
            return match["rest"]
    folder = cwd.rstrip("/") + "/"
    if cwd and file.startswith(folder):
        return file[len(folder) :]
    # Paths are text here, perhaps of another machine, and not to be normalised by pathlib.
    parts = file.rsplit("/", maxsplit=3)
    return file if parts[0].count("/") == 0 else "/".join(["…", *parts[1:]])


def short_line(file: str, line: int, cwd: str, limit: int = MAX_NAME) -> str:
    """``bandit/env.py:42``: a line by the short path of its file, fit to show."""
    return f"{cut_middle(printable(short_path(file, cwd)), limit)}:{line}"
