"""Where the program's modules come from: an editable install leads the base back to head's files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_OF_THE_USER: Final = frozenset({"HOME", "TMPDIR"})
"""Where both sides have the same caches, though it may be the folder of the repository."""


def with_own_imports(environment: Mapping[str, str], *, root: Path, side: Path) -> dict[str, str]:
    """``environment`` in which ``side`` stands for ``root``: on ``PYTHONPATH``, in what is a path below it
    (``CI_PROJECT_DIR``), and for the agent, which leads what is installed editable there.
    """
    own = {
        name: value if name in _OF_THE_USER else moved(value, root, side)
        for name, value in environment.items()
    }
    theirs = environment.get("PYTHONPATH")
    if theirs:
        words = [moved(word, root, side) for word in theirs.split(os.pathsep)]
        own["PYTHONPATH"] = os.pathsep.join(words)
    return {**own, "RLPROF_HEAD_ROOT": str(root), "RLPROF_SIDE_ROOT": str(side)}


def moved(word: str, root: Path, side: Path) -> str:
    """``word`` as ``side`` has it, if it is the absolute path of something below ``root``.

    As it is written where ``side`` lacks it, or has the same file.
    """
    place = place_below(word, root) if word.startswith("/") else None
    if place is None:
        return word
    there = side / place
    is_another = os.path.realpath(there) != os.path.realpath(word)
    return str(there) if is_another and os.access(there, os.F_OK) else word


def place_below(path: str, root: Path) -> Path | None:
    """Where below ``root`` the absolute ``path`` leads, through links too, from there; None elsewhere.

    Links inside of ``root`` are not followed: each side has its own.
    """
    top = os.path.realpath(root)
    # Behind a link ".." is the parent of where that leads.
    whole = Path(os.path.realpath(path) if ".." in Path(path).parts else path)
    for part in (*reversed(whole.parents), whole):
        inside = Path(os.path.realpath(part))
        if inside.is_relative_to(top):
            return inside.relative_to(top) / whole.relative_to(part)
    return None


def moved_command(
    command: Sequence[str], *, folder: Path, root: Path, side: Path, there: Path
) -> tuple[str, ...]:
    """``command`` as it is started in ``there``, the place below ``side`` that stands for ``folder``.

    A program that git does not track, as that of a virtual environment, is head's own.
    """
    first, *rest = (_moved_word(word, root, side) for word in command)
    is_relative = "/" in first and not first.startswith("/")
    if is_relative and not (there / first).exists() and (folder / first).exists():
        first = str(folder / first)
    return (first, *rest)


def _moved_word(word: str, root: Path, side: Path) -> str:
    """``word``, or what stands behind its ``=``, as :func:`moved` has it: ``--config=/path``."""
    name, is_assigned, path = word.partition("=/")
    if not is_assigned or name.startswith("/"):
        return moved(word, root, side)
    return f"{name}={moved(f'/{path}', root, side)}"
