"""Which files a run imported, as its agents told: sides that import the same files cannot be compared."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.gate.program import Checkout
from rlprof.gate.worktrees.copies import INSTALLED, copies_among
from rlprof.gate.worktrees.tracked import tracked_files

FOLDER_VARIABLE: Final = "RLPROF_IMPORTS_DIR"
"""Tells agents where to write what their processes imported."""


class ImportedFiles(NamedTuple):
    is_told: bool
    """Whether any process told: one that ignores the agent, or is ended from outside, does not."""
    own: int
    """How many lie in the side's own working tree."""
    of_other: tuple[Path, ...]
    """Those of the other side's working tree that should be its own, relative to it."""
    copies: tuple[Path, ...]
    """Files of the project, relative to its root, of which a copy was imported: an installed one, say."""
    not_run: tuple[Path, ...]
    """Those among them that differ between the sides, where the copy is not the side's own: that change was not run."""


def imported_files(folder: Path, checkout: Checkout, named: Collection[Path]) -> ImportedFiles:
    """What agents told in ``folder`` of a run in ``checkout``.

    ``named`` are files that the command names. What lies in the other tree alone is shared if git does not
    track it, as a virtual environment, or if the command names it. Raises :class:`MeasureError` when git fails.
    """
    own, other = checkout.own.resolve(), checkout.other.resolve()
    told = _told(folder)
    ours = [it for it in told if _tree_of(it, own, other) == own]
    theirs = [it for it in told if _tree_of(it, own, other) == other]
    misled = list(_misled(theirs, own, other, named))
    tracked = (own / it for it in tracked_files(own))
    elsewhere = set(told).difference(tracked, misled)
    copies = list(copies_among(sorted(elsewhere), own, other))
    return ImportedFiles(
        is_told=bool(told),
        own=len(ours) + sum(_tree_of(it, own, other) == own for it in named),
        of_other=tuple(it.relative_to(other) for it in misled),
        copies=tuple(it.place for it in copies),
        not_run=tuple(it.place for it in copies if it.hides_change),
    )


def _tree_of(path: Path, *trees: Path) -> Path | None:
    """One may lie in the other."""
    around = [tree for tree in trees if path.is_relative_to(tree)]
    return max(around, key=lambda tree: len(tree.parts), default=None)


def _told(folder: Path) -> list[Path]:
    """In order, and where links lead to: strict editable installations are made of them."""
    told: set[bytes] = set()
    try:
        for file in folder.iterdir():
            if file.is_file():
                # A process that is killed while it writes leaves a part of a path at the end.
                told.update(file.read_bytes().split(b"\0")[:-1])
    except OSError:
        pass  # The program knows of the folder, and may have removed it.
    return sorted({_real(os.fsdecode(path)) for path in told})


def _real(path: str) -> Path:
    folder, name = os.path.split(path)
    there = _real_folder(folder) / name
    return there.resolve() if there.is_symlink() else there


@lru_cache(maxsize=10_000)
def _real_folder(path: str) -> Path:
    return Path(os.path.realpath(path))


def _misled(
    paths: Sequence[Path], own: Path, other: Path, named: Collection[Path]
) -> Iterator[Path]:
    if not paths:
        return
    tracked = tracked_files(own) | tracked_files(other)
    for path in paths:
        place = path.relative_to(other)
        is_built = INSTALLED.isdisjoint(place.parts) and (own / place).is_file()
        if path not in named and (is_built or str(place) in tracked):
            yield path
