"""What git keeps of a worktree, ``.git/worktrees/ID``: ours is removed, and never another.

``git worktree prune`` is not for us: it takes worktrees of the user's too, as those on a disk that is not
mounted at the moment.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rlprof.gate.worktrees.check_folder import has_our_name


class _Entry(NamedTuple):
    folder: Path
    worktree: Path
    """Where it lies, or lay."""


def forget(git_folder: Path, worktree: Path) -> None:
    """Remove what ``git_folder``, which all worktrees share, keeps of this one."""
    wanted = os.path.realpath(worktree)
    for entry in _entries(git_folder):
        if os.path.realpath(entry.worktree) == wanted:
            _remove(entry)


def forget_left_ones(git_folder: Path) -> None:
    """Those of killed checks, once their folders are gone."""
    for entry in _entries(git_folder):
        with suppress(OSError):
            if _was_ours(entry):
                _remove(entry)


def _was_ours(entry: _Entry) -> bool:
    folder = entry.worktree.parent
    return (
        has_our_name(folder)
        and entry.folder.lstat().st_uid == os.getuid()
        # Without that one a disk may be missing.
        and folder.parent.is_dir()
        and not folder.exists()
    )


def _entries(git_folder: Path) -> Iterator[_Entry]:
    for file in (git_folder / "worktrees").glob("*/gitdir"):
        with suppress(OSError):
            text = os.fsdecode(file.read_bytes()).removesuffix("\n")
            # Newer gits can be told to write them relative to the entry.
            yield _Entry(file.parent, (file.parent / text).parent)


def _remove(entry: _Entry) -> None:
    shutil.rmtree(entry.folder, ignore_errors=True)
    # As git leaves it behind its last worktree.
    with suppress(OSError):
        entry.folder.parent.rmdir()
