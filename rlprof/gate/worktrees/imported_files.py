"""The files that a run imported, as its agents told: sides that import the same files cannot be compared."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.errors import MeasureError
from rlprof.gate.program import Checkout, Program, Side
from rlprof.gate.worktrees.git import git
from rlprof.report import wording


class ImportedFiles(NamedTuple):
    is_told: bool
    """True if any process told: one that ignores the agent, or is ended from outside, does not."""
    own: int
    """How many lie in the side's own working tree."""
    of_other: tuple[Path, ...]
    """Those of the other side's working tree that should be its own, relative to it."""
    copies: tuple[Path, ...]
    """Files of the project, relative to its root, of which a copy was imported: an installed one, say."""
    not_run: tuple[Path, ...]
    """Those among them that differ between the sides, where the copy is not the side's own: that change was not run."""


def imported_files(folder: Path, checkout: Checkout, named: Collection[Path]) -> ImportedFiles:
    """Return what agents told in ``folder`` of a run in ``checkout``.

    ``named`` are files that the command names. What lies in the other tree alone is shared if git does not
    track it, as a virtual environment, or if the command names it. Raises :class:`MeasureError` when git fails.
    """
    own, other = checkout.own.resolve(), checkout.other.resolve()
    told = _named_files(folder)
    ours = [file for file in told if _tree_of(file, own, other) == own]
    theirs = [file for file in told if _tree_of(file, own, other) == other]
    misled = list(_misled(theirs, own, other, named))
    tracked = (own / file for file in tracked_files(own))
    elsewhere = set(told).difference(tracked, misled)
    copies = list(copies_among(sorted(elsewhere), own, other))
    return ImportedFiles(
        is_told=bool(told),
        own=len(ours) + sum(_tree_of(file, own, other) == own for file in named),
        of_other=tuple(file.relative_to(other) for file in misled),
        copies=tuple(copy.place for copy in copies),
        not_run=tuple(copy.place for copy in copies if copy.hides_change),
    )


def _tree_of(path: Path, *trees: Path) -> Path | None:
    """One may lie in the other."""
    around = [tree for tree in trees if path.is_relative_to(tree)]
    return max(around, key=lambda tree: len(tree.parts), default=None)


def _named_files(folder: Path) -> list[Path]:
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


# --- runs that imported other files than their own: both sides would run the same ---------------


def refuse_foreign_imports(imported: ImportedFiles, program: Program, run: str) -> None:
    """Raise :class:`MeasureError` if what ``run`` of ``program`` imported makes it no run of its side."""
    if imported.of_other:
        raise _of_other(imported.of_other, program.side, run)
    if imported.not_run:
        raise MeasureError(
            f"{run} imported a copy of {_and_more(imported.not_run)} in place of its own, and that file is another one "
            "in base than in head",
            slug="change-not-run",
            hint="an installed copy, or another clone on the path, runs on both sides, and not the change: install the "
            "project editable (pip install -e .), or compare two environments with --base-command",
        )


def _of_other(files: Sequence[Path], side: Side, run: str) -> MeasureError:
    if side is Side.HEAD:
        return MeasureError(
            f"{run} imported {_and_more(files)} from the worktree of base, and not from its own tree",
            slug="head-imports-base",
            hint="--prepare has installed base where head is installed: install head again, and have --prepare make "
            "an environment of its own in the worktree",
        )
    return MeasureError(
        f"{run} imported {_and_more(files)} from the working tree of head, and not from its own",
        slug="base-imports-head",
        hint="what leads there: an installation (setuptools' strict mode, a link), or a path in the command, the "
        "program or its environment? --base-command compares two folders that you have prepared",
    )


def _and_more(files: Sequence[Path]) -> str:
    rest = len(files) - 1
    return (
        f"{files[0]} and {wording.counted(rest, 'more file', 'more files')}"
        if rest
        else str(files[0])
    )


# --- modules that were imported as copies: of an installation, of another clone, of a build -----

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Names of folders of what was installed."""


class Copy(NamedTuple):
    place: Path
    """Path of what it is a copy of, relative to the root of the side's own tree."""
    module: Path
    """Its place in the topmost package."""
    content: bytes
    own: bytes | None
    """The content of what it is a copy of; None where that is absent."""
    other: bytes | None
    """That of the other side's."""

    @property
    def is_evident(self) -> bool:
        """True if it surely is one: another project's package may have the same name."""
        return bool(self.content.strip()) and self.content in (self.own, self.other)

    @property
    def hides_change(self) -> bool:
        is_changed = None not in (self.own, self.other) and self.own != self.other
        return is_changed and self.content != self.own


def copies_among(paths: Sequence[Path], own: Path, other: Path) -> Iterator[Copy]:
    """Those of ``paths`` that are copies of files of the project, of which both sides have a working tree."""
    ours, theirs = tracked_modules(own), tracked_modules(other)
    found = []
    for path in paths:
        module = _module(path)
        place = ours.get(module)
        # Thousands are not of the project, and need not be read.
        content = None if place is None else _content(path)
        if place is not None and content is not None:
            elsewhere = theirs.get(module)
            there = None if elsewhere is None else _content(other / elsewhere)
            found.append(Copy(place, module, content, _content(own / place), there))
    evident = {copy.module.parts[0] for copy in found if copy.is_evident}
    yield from (copy for copy in found if copy.module.parts[0] in evident)


def _module(path: Path) -> Path:
    """``lab/policy.py``: where it is installed, or from its topmost package on."""
    at = max((at for at, part in enumerate(path.parts) if part in INSTALLED), default=None)
    if at is not None:
        return Path(*path.parts[at + 1 :])
    top = path
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    return path.relative_to(top.parent)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


# --- what git tracks in a working tree, and which of it an installation brings ------------------

_LAYOUTS: Final = ("", "src", "python", "lib")
"""Where projects have what they install."""

_OF_A_PROJECT: Final = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})


@lru_cache(maxsize=2)
def tracked_files(root: Path) -> frozenset[str]:
    """Python files, and those of projects, that git tracks below ``root``, submodules included."""
    wanted = ("*.py", *(f"*{name}" for name in sorted(_OF_A_PROJECT)))
    listed = git(root, "ls-files", "-z", "--recurse-submodules", "--", *wanted)
    if not listed.is_good:
        raise MeasureError(
            f"git could not list the files of {root}: {listed.error}",
            slug="worktree-failed",
            hint="try `git ls-files --recurse-submodules` there",
        )
    return frozenset(file for file in listed.out.split("\0") if file)


@lru_cache(maxsize=2)
def tracked_modules(root: Path) -> Mapping[Path, Path]:
    """Tracked modules that an installation would bring, by their place in the topmost package: that of
    ``libs/a/src/lab/policy.py`` is ``lab/policy.py``, if ``libs/a`` is a project.
    """
    tracked = [Path(file) for file in sorted(tracked_files(root))]
    projects = {Path(), *(file.parent for file in tracked if file.name in _OF_A_PROJECT)}
    roots = {project / layout for project in projects for layout in _LAYOUTS}
    packages = {file.parent for file in tracked if file.name == "__init__.py"}
    found = {}
    for path in tracked:
        top = path.parent
        while top in packages and top != Path():
            top = top.parent
        if path.suffix == ".py" and top in roots:
            found[path.relative_to(top)] = path
    return found
