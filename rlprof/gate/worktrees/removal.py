"""Remove what runs leave, be it without the right to."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path


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
