"""The temporary folder of a check; what a killed check left is removed by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rlprof.gate.interruption import shielded

_PREFIX: Final = "rlprof-check-"

SETTLED_S: Final = 60.0
"""A folder that nobody has locked at this age has lost its check: one locks its own at once."""


@contextmanager
def check_folder() -> Iterator[Path]:
    """A folder for one check, removed at its end.

    It is locked for as long as the process lives, and not longer: no signal can keep the system from
    giving the lock back.
    """
    _remove_left_ones(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        with shielded():
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_left_ones(parent: Path) -> None:
    """Those of this user that no living check holds; git forgets their worktrees when it prunes."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if _is_settled(folder) and not _is_locked(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_settled(folder: Path) -> bool:
    found = folder.lstat()
    return found.st_uid == os.getuid() and time.time() - found.st_mtime > SETTLED_S


def _is_locked(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
