"""Leave the disk to the training, which saves its own results there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from rlprof.errors import OutputError
from rlprof.runfile.schema import journals
from rlprof.units import size

MOST_PART: Final = 0.1
"""Part of what was free on the disk that a recording takes."""

LEAST_FREE_BYTES: Final = 10 << 20
"""Without as much a recording does not begin: a short one takes half a MiB, its journal included."""


def expect_room(run_file: Path) -> None:
    """Raise :class:`OutputError` where the disk has little room, or the recording has taken its part of it."""
    free = _free_bytes(run_file.parent)
    if free is None:
        return
    taken = sum(_bytes_of(file) for file in (run_file, *journals(run_file)))
    if free + taken >= LEAST_FREE_BYTES and taken <= MOST_PART * (free + taken):
        return
    raise OutputError(
        f"the disk of {run_file} has {size(free)} free, which are left to your program",
        slug="disk-nearly-full",
        hint="make room, or choose another place with -o RUN",
    )


def _free_bytes(folder: Path) -> int | None:
    """Bytes that anybody may still write; None where the file system does not tell."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else None


def _bytes_of(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_blocks * 512
    return 0
