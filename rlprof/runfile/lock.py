"""The lock that a recorder holds on its run file: who reads the file, or would replace it, sees that one is at work."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path
from typing import Final

_FLOCK: Final = struct.Struct("hhqqi4x")


def _first_byte(kind: int) -> bytes:
    """The lock of a run file, as ``struct flock``. SQLite locks other bytes, and unlocks all that are its process's;
    so this is a lock of the open file (OFD).
    """
    return _FLOCK.pack(kind, os.SEEK_SET, 0, 1, 0)


_held: dict[tuple[int, int], int] = {}
"""By device and inode, the descriptor of each file that this process locks."""


def is_locked_here(fd: int, path: Path) -> bool:
    """Lock the file ``fd`` for this process alone; False where another run has it, or has removed it meanwhile."""
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _first_byte(fcntl.F_WRLCK))
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # No such locks here: gVisor, some network file systems.
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def keep(fd: int) -> None:
    """Hold the lock of ``fd`` until :func:`let_go`, or until this process ends."""
    stat = os.fstat(fd)
    _held[stat.st_dev, stat.st_ino] = fd


def let_go(path: Path) -> None:
    """Nothing more is recorded into the file. SQLite may have it open no longer: it would lose its own locks."""
    try:
        stat = path.stat()
    except OSError:
        return
    fd = _held.pop((stat.st_dev, stat.st_ino), None)
    if fd is not None:
        os.close(fd)


def is_recorded_into(fd: int) -> bool:
    """Tell whether a recorder is at work on the file ``fd``; False as well where the file system has no such locks."""
    try:
        found = fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _first_byte(fcntl.F_WRLCK))
    except OSError:
        return False
    return bool(_FLOCK.unpack(found)[0] != fcntl.F_UNLCK)
