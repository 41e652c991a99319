"""Which files a run imported, as its agents told: a base that imports head's is no base."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.gate.program import Checkout
from rlprof.gate.worktrees.import_paths import INSTALLED

FOLDER_VARIABLE: Final = "RLPROF_IMPORTS_DIR"
"""Tells agents where to write what their processes imported."""

_LAYOUTS: Final = ("", "src")
"""Where repositories have their packages."""


class ImportedFiles(NamedTuple):
    own: int
    """How many lie in the base's own worktree."""
    of_head: tuple[Path, ...]
    """Those of the working tree of head that the worktree has too, relative to it."""
    installed: tuple[Path, ...]
    """Those of installed packages that the worktree has too, relative to where they are installed."""


def imported_files(folder: Path, checkout: Checkout) -> ImportedFiles | None:
    """What agents told in ``folder``; None where none of them did.

    What lies in head's tree alone is shared: a virtual environment, or a new file that the command names.
    """
    told = _told(folder)
    if not told:
        return None
    root, head = checkout.root.resolve(), checkout.head.resolve()
    own = [it for it in told if it.is_relative_to(root)]
    theirs = [
        it.relative_to(head)
        for it in told
        if it.is_relative_to(head) and not it.is_relative_to(root)
    ]
    of_head = [it for it in theirs if INSTALLED.isdisjoint(it.parts) and (root / it).is_file()]
    return ImportedFiles(len(own), tuple(of_head), tuple(_installed(told, root)))


def _told(folder: Path) -> list[Path]:
    """In order, and where links lead to: strict editable installations are made of them."""
    told = b"".join(file.read_bytes() for file in folder.iterdir())
    # A process that is killed while it writes leaves a part of a path at the end.
    return sorted(
        {Path(os.path.realpath(path)) for path in map(os.fsdecode, told.split(b"\0")[:-1])}
    )


def _installed(told: Sequence[Path], root: Path) -> Iterator[Path]:
    for path in told:
        at = next((at for at, name in enumerate(path.parts) if name in INSTALLED), None)
        if at is not None:
            place = Path(*path.parts[at + 1 :])
            if any((root / layout / place).is_file() for layout in _LAYOUTS):
                yield place
