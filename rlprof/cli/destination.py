"""The destination of an output: its path leads through links to a file, or into a stream that is open already."""

from __future__ import annotations

import errno
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.inputs import open_input
from rlprof.runfile.schema import HEAD_BYTES, is_head_of_run_file

_PLACE: Final = re.compile(r"(?P<process>/proc/\d+)(?:/task/\d+)?/fd/(?P<number>\d{1,9})")
_MOST_LINKS: Final = 40
"""As many as the kernel follows."""


class Descriptor(NamedTuple):
    """An open stream that has a path: ``/dev/stdout``, ``/dev/fd/3``, ``/proc/1/fd/2``."""

    number: int
    is_own: bool
    """False for those of another process."""


def descriptor_at(path: Path) -> Descriptor | None:
    """The descriptor that ``path`` leads to through links; None where it leads elsewhere."""
    place = str(path)
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(place)
        # The last link is the one that matters: what comes behind a descriptor is the file that it writes to.
        folder = os.path.realpath(folder)
        found = _PLACE.fullmatch(f"{folder}/{name}")
        if found is not None:
            is_own = found["process"] == os.path.realpath("/proc/self")
            return Descriptor(int(found["number"]), is_own)
        try:
            # Not by pathlib, which leaves out a slash at the end and so would follow what the kernel does not.
            place = os.path.join(folder, os.readlink(f"{folder}/{name}"))  # noqa: PTH115, PTH118
        except OSError:
            return None
    return None


def is_one_file(path: Path, other: str | Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def is_own_stream(path: Path) -> bool:
    descriptor = descriptor_at(path)
    return descriptor is not None and descriptor.is_own


def is_recording(path: Path, *, or_empty: bool = False) -> bool:
    """Tell whether a run file is there; an empty one may become one."""
    with suppress(OSError), open_input(path) as file:
        head = file.read(HEAD_BYTES)
        return is_head_of_run_file(head) or (or_empty and not head)
    return False


def file_behind(path: Path) -> Path:
    """The file that is meant where ``path`` is a link to it; it need not be there.

    Raises ``OSError`` for links that lead in a circle.
    """
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return file


def write_into(number: int, content: bytes) -> None:
    """Write where a descriptor of this process stands: at the end of a log to which a shell appends.

    Raises ``OSError`` for one that was not handed to rlprof.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # What Python and SQLite open is closed on exec; a run file that is being read must not be written into.
    if not os.get_inheritable(number):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    with os.fdopen(os.dup(number), "wb") as file:
        file.write(content)
