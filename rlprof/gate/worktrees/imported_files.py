"""Which files a run imported, as its agents told: sides that import the same files cannot be compared."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.errors import MeasureError
from rlprof.gate.program import Checkout
from rlprof.gate.worktrees.git import git
from rlprof.gate.worktrees.import_paths import INSTALLED

FOLDER_VARIABLE: Final = "RLPROF_IMPORTS_DIR"
"""Tells agents where to write what their processes imported."""

_LAYOUTS: Final = ("", "src")
"""Where repositories have modules that are in no package."""


class ImportedFiles(NamedTuple):
    is_told: bool
    """Whether any process told: one that ignores the agent, or is ended from outside, does not."""
    own: int
    """How many lie in the side's own working tree."""
    of_other: tuple[Path, ...]
    """Those of the other side's working tree that should be its own, relative to it."""
    elsewhere: tuple[Path, ...]
    """Of packages of the project, neither from there nor installed: of another clone, say."""
    installed: tuple[Path, ...]
    """Of packages of the project, relative to its root, which were imported as they are installed."""
    not_run: tuple[Path, ...]
    """Those among them that are another file on the other side: that change was not run."""


def imported_files(folder: Path, checkout: Checkout, named: Collection[Path]) -> ImportedFiles:
    """What agents told in ``folder`` of a run in ``checkout``.

    ``named`` are files that the command names. What lies in the other tree alone is shared if git does not
    track it, as a virtual environment, or if the command names it. Raises :class:`MeasureError` when git fails.
    """
    own, other = checkout.own.resolve(), checkout.other.resolve()
    told = _told(folder)
    ours = [it for it in told if _tree_of(it, own, other) == own]
    theirs = [it for it in told if _tree_of(it, own, other) == other]
    outside = [it for it in told if _tree_of(it, own, other) is None]
    installed = list(_installed_copies([*theirs, *outside], own))
    return ImportedFiles(
        is_told=bool(told),
        own=len(ours) + sum(_tree_of(it, own, other) == own for it in named),
        of_other=tuple(_misled(theirs, own, other, named)),
        elsewhere=tuple(_copies(outside, own)),
        installed=tuple(installed),
        not_run=tuple(it for it in installed if not _is_same(own / it, other / it)),
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
    tracked = _tracked(own) | _tracked(other)
    for path in paths:
        place = path.relative_to(other)
        is_built = INSTALLED.isdisjoint(place.parts) and (own / place).is_file()
        if path not in named and (is_built or str(place) in tracked):
            yield place


def _copies(paths: Sequence[Path], own: Path) -> Iterator[Path]:
    packaged = _packaged(own)
    for path in paths:
        if INSTALLED.isdisjoint(path.parts) and any(
            tail in packaged for tail in _tails_from_topmost_package(path)
        ):
            yield path


def _tails_from_topmost_package(path: Path) -> Iterator[str]:
    """At most one: ``lab/policy.py``."""
    top = path
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    if top != path:
        yield str(path.relative_to(top.parent))


def _installed_copies(paths: Sequence[Path], own: Path) -> Iterator[Path]:
    packaged = _packaged(own)
    for path in paths:
        at = max((at for at, it in enumerate(path.parts) if it in INSTALLED), default=None)
        if at is None:
            continue
        place = Path(*path.parts[at + 1 :])
        alone = (Path(layout) / place for layout in _LAYOUTS if (own / layout / place).is_file())
        tracked = packaged.get(str(place)) or next(alone, None)
        if tracked is not None:
            yield tracked


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False  # One of them lacks it.


@lru_cache(maxsize=1)
def _packaged(root: Path) -> Mapping[str, Path]:
    """Tracked files of packages by what they are from the topmost package on: ``lab/policy.py`` of
    ``libs/a/src/lab``.
    """
    modules = [Path(it) for it in sorted(_tracked(root))]
    packages = {it.parent for it in modules if it.name == "__init__.py"}
    return {_from_package(it, packages): it for it in modules if it.parent in packages}


def _from_package(module: Path, packages: Collection[Path]) -> str:
    top = module.parent
    while top.parent in packages and top.parent != top:
        top = top.parent
    return str(module.relative_to(top.parent))


@lru_cache(maxsize=2)
def _tracked(root: Path) -> frozenset[str]:
    """Python files that git tracks below ``root``, submodules included."""
    listed = git(root, "ls-files", "-z", "--recurse-submodules", "--", "*.py")
    if not listed.is_good:
        raise MeasureError(
            f"git could not list the files of {root}: {listed.error}",
            slug="worktree-failed",
            hint="try `git ls-files --recurse-submodules` there",
        )
    return frozenset(it for it in listed.out.split("\0") if it)
