"""Where the program's modules come from: an editable install leads the base back to head's files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rlprof.gate.interpreter import ask

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Names of folders of what was installed."""

_ASK: Final = """
import json, os, sys
found = [path for path in sys.path if path]
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__"):
        for place in getattr(module, "MAPPING", {}).values():
            found.append(os.path.dirname(place))
print(json.dumps({"paths": found, "prefixes": [sys.prefix, sys.base_prefix]}))
"""
"""The second kind is how setuptools redirects the import of a package that was installed editable."""


def own_paths(python: str | None, root: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Folders below ``root``, relative to it, from which ``python`` imports; installed ones aside."""
    told = ask(python, _ASK, environment)
    if not told:
        return ()
    top = root.resolve()
    # An environment inside the repository; of one around it, as /usr, the repository is a part.
    prefixes = (Path(text).resolve() for text in told["prefixes"])
    inside = [it for it in prefixes if it != top and it.is_relative_to(top)]
    paths = (Path(text).resolve() for text in told["paths"])
    return tuple(
        dict.fromkeys(
            str(path.relative_to(top))
            for path in paths
            if path.is_relative_to(top)
            and path.is_dir()
            and INSTALLED.isdisjoint(path.parts)
            and not any(path.is_relative_to(prefix) for prefix in inside)
        )
    )


def with_import_paths(
    environment: Mapping[str, str], paths: Sequence[str], *, root: Path, side: Path
) -> dict[str, str]:
    """``environment`` in which ``paths`` below ``root`` lead to those below ``side``.

    ``PYTHONPATH`` comes before what an installation redirects.
    """
    theirs = environment.get("PYTHONPATH", "")
    wanted = [moved(word, root, side) for word in theirs.split(os.pathsep) if word]
    known = {os.path.realpath(word) for word in wanted if word.startswith("/")}
    wanted += [str(side / path) for path in paths if os.path.realpath(side / path) not in known]
    if not wanted:
        return dict(environment)
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys(wanted))}


def moved(word: str, root: Path, side: Path) -> str:
    """``word`` as ``side`` has it, if it is the absolute path of something below ``root``.

    As it is written where ``side`` lacks it, or has the same file.
    """
    place = place_below(word, root) if word.startswith("/") else None
    if place is None:
        return word
    there = side / place
    is_another = os.path.realpath(there) != os.path.realpath(word)
    return str(there) if is_another and there.exists() else word


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
