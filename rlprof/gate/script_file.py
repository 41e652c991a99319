"""The file that a command starts, as far as its words tell: where a code host can show what has no line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path


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
    if not Path(program).name.startswith("python"):
        # A launcher, or itself the script.
        yield from (word for word in words if word.endswith(".py"))
        if "/" in program:
            yield program
    elif words[:1] == ("-m",):
        for module in words[1:2]:
            place = module.replace(".", "/")
            yield from (f"{place}.py", f"{place}/__main__.py")
    else:
        for script in words[:1]:
            yield from (script, f"{script}/__main__.py")
