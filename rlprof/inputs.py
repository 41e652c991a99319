"""Open the files that a user names, without waiting for a pipe or reading a device without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from rlprof.units import size

_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_input(path: Path) -> BinaryIO:
    """The regular file at ``path``, or behind a link there, for reading.

    Raises ``OSError`` at once for anything else: opening a pipe waits for a writer, and a device has no end.
    """
    # Before it is opened as well: a tape rewinds when it is.
    _check_is_regular(path.stat().st_mode, path)
    # Another file may have taken its place since; files of the kernel wait for news.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb")
    try:
        _check_is_regular(os.fstat(file.fileno()).st_mode, path)
    except OSError:
        file.close()
        raise
    return file


def read_input(path: Path, most_bytes: int) -> bytes:
    """The content of the regular file at ``path``.

    Raises ``OSError`` as :func:`open_input`, and for a file of more than ``most_bytes``.
    """
    with open_input(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        _refuse(errno.EFBIG, f"it is larger than {size(most_bytes)}", path)
    return content


def _check_is_regular(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        _refuse(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "no file")
        _refuse(errno.EINVAL, f"it is {kind}, and only regular files are read", path)


def _refuse(number: int, why: str, path: Path) -> NoReturn:
    raise OSError(number, why, str(path))
