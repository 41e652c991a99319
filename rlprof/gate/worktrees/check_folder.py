"""The temporary folder of a check; what a killed check left is removed by the next one."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from rlprof.gate.interruption import shielded

_PREFIX: Final = "rlprof-check-"
_NAME: Final = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
"""As ``mkdtemp`` makes them. Users have folders of their own that are called so, too."""

MARK: Final = "made-by-rlprof-check"
"""The file that tells a folder of ours from those."""

SETTLED_S: Final = 60.0
"""A folder that nobody has locked at this age has lost its check: one locks its own at once."""


@contextmanager
def check_folder() -> Iterator[Path]:
    """A folder for one check, removed at its end.

    It is locked for as long as the process lives, and not longer: no signal can keep the system from
    giving the lock back.
    """
    _remove_left_ones(Path(tempfile.gettempdir()))
    with shielded():
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        (folder / MARK).touch()
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        with shielded():
            _remove(folder)
        os.close(lock)


def is_check_folder_name(folder: Path) -> bool:
    """Tell whether it is called as the folder of a check."""
    return _NAME.fullmatch(folder.name) is not None


def _remove_left_ones(parent: Path) -> None:
    """Those of this user that no living check holds."""
    for folder in filter(is_check_folder_name, parent.glob(f"{_PREFIX}*")):
        with suppress(OSError):
            there = folder.lstat()
            is_ours = there.st_uid == os.getuid() and (folder / MARK).is_file()
            if is_ours and time.time() - there.st_mtime > SETTLED_S and not _is_locked(folder):
                _remove(folder)


def _remove(folder: Path) -> None:
    """The mark goes last: without it, what is stopped half-way, or could not be removed, would stay for ever."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                remove_tree(path)
            elif path.name != MARK:
                path.unlink()
        if [entry.name for entry in folder.iterdir()] in ([], [MARK]):
            remove_tree(folder)


def _is_locked(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


# --- removing what runs leave, be it without the right to ------------------------------------


def remove_tree(folder: Path) -> None:
    """As far as that is possible: folders that a run has made read-only (caches do) are made writable first."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.is_dir():
        _allow(folder)
        for top, names, _ in os.walk(folder):
            for name in names:
                _allow(Path(top, name))
        shutil.rmtree(folder, ignore_errors=True)


def _allow(folder: Path) -> None:
    with suppress(OSError):
        if not folder.is_symlink():
            folder.chmod(stat.S_IRWXU)
