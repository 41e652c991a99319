"""Frames of collapsed stacks, as the programs that write such stacks spell them."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

from rlprof.libraries.known import LIBRARIES
from rlprof.model.recording import Frame

_PY_SPY: Final = re.compile(
    r"(?P<function>.+) \((?P<file>.+?)(?::(?P<line>[0-9]{1,9}))?\)", re.DOTALL
)
_AUSTIN: Final = re.compile(
    r"(?P<file>.+\.pyx?|<.+>):(?P<function>[^:]+):(?P<line>[0-9]{1,9})", re.DOTALL
)
_PERF: Final = re.compile(r"py::(?P<function>[^:]+):(?P<file>.+)", re.DOTALL)
"""Of perf, with the trampoline of Python 3.12: it tells no lines."""

_FORMS: Final = (_AUSTIN, _PERF, _PY_SPY)

SHORT_STDLIB: Final = "…/lib/python3.0/"
"""Stands for the folder that was cut off; which version is not known."""
SHORT_INSTALLED: Final = "…/site-packages/"

_INSTALLED: Final = frozenset(package for library in LIBRARIES for package in library.packages)
"""Packages that training imports: a file in a folder of such a name is nobody's own."""


@lru_cache(maxsize=65536)
def frame_of(text: str) -> Frame:
    """The frame that ``text`` spells; without a file when it names a function alone."""
    for form in _FORMS:
        # Where the end does not fit, a name of many brackets would be tried at each of them.
        found = form.fullmatch(text) if form is not _PY_SPY or text.endswith(")") else None
        if found:
            named = found.groupdict()
            line = named.get("line")
            return Frame(_file(named["file"]), named["function"], int(line) if line else 0)
    return Frame("", text, 0)


@lru_cache(maxsize=65536)
def _file(name: str) -> str:
    """``name`` as a path that tells whose it is; py-spy cuts off the folder of imports."""
    if name.startswith(("/", "<")):
        return name
    if not name.endswith((".py", ".pyx")):
        # A shared library, of which py-spy tells the name alone.
        return SHORT_INSTALLED + name
    here = Path.cwd() / name
    if _is_file(here):
        return str(here)
    top = name.replace("\\", "/").partition("/")[0]
    if top.removesuffix(".py") in sys.stdlib_module_names:
        return SHORT_STDLIB + name
    return SHORT_INSTALLED + name if top in _INSTALLED else name


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_short(file: str) -> bool:
    """Whether the front of the name was cut off."""
    return bool(file) and not file.startswith(("/", "<"))
