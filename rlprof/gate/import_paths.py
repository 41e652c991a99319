"""Where the program's modules come from: an editable install leads the base back to head's files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*t?")
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_TIMEOUT_S: Final = 30

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


def interpreter_of(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The Python that a command will most likely use."""
    if command and _PYTHON.fullmatch(Path(command[0]).name):
        return command[0]
    path = environment.get("PATH")
    return shutil.which("python", path=path) or shutil.which("python3", path=path)


def own_paths(python: str | None, root: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Folders below ``root``, relative to it, from which ``python`` imports; installed ones aside."""
    if python is None:
        return ()
    # From another folder: -c would add the working directory.
    try:
        answer = subprocess.run(
            [python, "-c", _ASK],
            cwd="/",
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
        told = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return ()
    top = root.resolve()
    # An environment inside the repository; of one around it, as /usr, the repository is a part.
    inside = [it for it in map(Path, told["prefixes"]) if it != top and it.is_relative_to(top)]
    paths = (Path(text).resolve() for text in told["paths"])
    return tuple(
        dict.fromkeys(
            str(path.relative_to(top))
            for path in paths
            if path.is_relative_to(top)
            and path.is_dir()
            and _INSTALLED.isdisjoint(path.parts)
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
    kept = [moved(word, root, side) for word in theirs.split(os.pathsep) if word]
    wanted = list(dict.fromkeys([*kept, *(str(side / path) for path in paths)]))
    if not wanted:
        return dict(environment)
    return {**environment, "PYTHONPATH": os.pathsep.join(wanted)}


def moved(word: str, root: Path, side: Path) -> str:
    """``word`` as ``side`` has it, if it is the absolute path of something below ``root``."""
    if not word.startswith("/"):
        return word
    path = Path(os.path.normpath(word))
    if not path.is_relative_to(root):
        return word
    there = side / path.relative_to(root)
    return str(there) if there.exists() else word


def moved_command(
    command: Sequence[str], *, folder: Path, root: Path, side: Path, there: Path
) -> tuple[str, ...]:
    """``command`` as it is started in ``there``, the place below ``side`` that stands for ``folder``.

    A program that git does not track, as that of a virtual environment, is head's own.
    """
    first, *rest = (moved(word, root, side) for word in command)
    is_relative = "/" in first and not first.startswith("/")
    if is_relative and not (there / first).exists() and (folder / first).exists():
        first = str(folder / first)
    return (first, *rest)
