"""Keep the text of the files with hot lines, without secrets, so that a report needs no source tree."""

from __future__ import annotations

import time
import tokenize
from collections.abc import Iterable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Final

from rlprof.inputs import read_input
from rlprof.recording.redaction.literals import hide_literals
from rlprof.syntax.module import parse
from rlprof.syntax.origin import Origin, origin_of_file

MAX_FILE_BYTES: Final = 500_000
MAX_TOTAL_BYTES: Final = 8_000_000
MIN_SHARE: Final = 0.01
"""An installed file is kept when this part of all time passes through it; your own always are."""

_NOT_FILES: Final = ("/proc/", "/dev/")
"""``/dev/fd/3`` is another file here than in the program, and reading some of these waits or changes something."""

MEANWHILE_S: Final = 0.2
"""CPU time that keeping them may take while the training runs: its signals wait for it."""
AT_THE_END_S: Final = 1.5
"""The same once it has ended: whoever waits for the report, or ends rlprof, waits for it."""


_OF_PYTHON: Final = frozenset({".py", ".pyw", ".pyx", ".pyi"})


def read_sources(
    costs: Iterable[tuple[str, int]], total_us: int, most_s: float = AT_THE_END_S
) -> dict[str, str]:
    """The files of ``costs`` (file, µs; dearest first) that are worth keeping and can be read.

    After ``most_s`` of CPU time no more of your own are taken. Those whose secrets were taken out once cost nothing when
    they are asked for again.
    """
    kept: dict[str, str] = {}
    room = MAX_TOTAL_BYTES
    until = time.thread_time() + most_s
    for file, cost_us in costs:
        installed = origin_of_file(file) is not Origin.YOURS
        if installed and cost_us < MIN_SHARE * total_us:
            continue
        if time.thread_time() > until:
            break
        text = read_source(file)
        if text is None or len(text) > room:
            continue
        kept[file] = text if installed else hide_literals(text)
        room -= len(text)
    return kept


def read_source(file: str) -> str | None:
    if file.startswith(_NOT_FILES):
        return None
    path = Path(file)
    try:
        text = _as_python_reads(read_input(path, MAX_FILE_BYTES))
    except (OSError, ValueError):
        return None  # Pseudo-files such as <string>, and generated code too long to show.
    return text if path.suffix in _OF_PYTHON or _is_script(path, text) else None


def _as_python_reads(content: bytes) -> str:
    """The text without a byte order mark, by the encoding that its first lines name, each line ended by a newline alone."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        return _decoded(content, encoding)
    except (
        SyntaxError,
        LookupError,
        ValueError,
    ):  # No Python, or of an encoding that is none of text.
        return _decoded(content, "utf-8")


def _decoded(content: bytes, encoding: str) -> str:
    return TextIOWrapper(BytesIO(content), encoding, errors="backslashreplace").read()


def _is_script(path: Path, text: str) -> bool:
    """Tell a script without an ending from what a program has compiled under the name of its configuration, a template or a list of keys,
    whose secrets look otherwise than those of Python.
    """
    is_named_so = not path.suffix and not path.name.startswith(".")
    return is_named_so and ("import " in text or text.startswith("#!")) and parse(text) is not None
