"""Modules that were imported as copies: of an installation, of another clone, of a build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rlprof.gate.worktrees.tracked import tracked_modules

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Names of folders of what was installed."""


class Copy(NamedTuple):
    place: Path
    """Of what it is a copy of, relative to the root of the side's own tree."""
    module: Path
    """Its place in the topmost package."""
    content: bytes
    own: bytes | None
    """The content of what it is a copy of; None where that is absent."""
    other: bytes | None
    """That of the other side's."""

    @property
    def is_evident(self) -> bool:
        """Whether it surely is one: another project's package may have the same name."""
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
    evident = {it.module.parts[0] for it in found if it.is_evident}
    yield from (it for it in found if it.module.parts[0] in evident)


def _module(path: Path) -> Path:
    """``lab/policy.py``: where it is installed, or from its topmost package on."""
    at = max((at for at, it in enumerate(path.parts) if it in INSTALLED), default=None)
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
