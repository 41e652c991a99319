"""What git tracks in a working tree, and which of it an installation of the project brings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from rlprof.errors import MeasureError
from rlprof.gate.worktrees.git import git

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
    return frozenset(it for it in listed.out.split("\0") if it)


@lru_cache(maxsize=2)
def tracked_modules(root: Path) -> Mapping[Path, Path]:
    """Tracked modules that an installation would bring, by their place in the topmost package: that of
    ``libs/a/src/lab/policy.py`` is ``lab/policy.py``, if ``libs/a`` is a project.
    """
    tracked = [Path(it) for it in sorted(tracked_files(root))]
    projects = {Path(), *(it.parent for it in tracked if it.name in _OF_A_PROJECT)}
    roots = {project / layout for project in projects for layout in _LAYOUTS}
    packages = {it.parent for it in tracked if it.name == "__init__.py"}
    found = {}
    for path in tracked:
        top = path.parent
        while top in packages and top != Path():
            top = top.parent
        if path.suffix == ".py" and top in roots:
            found[path.relative_to(top)] = path
    return found
