"""The Pythons of this machine, and environments of them with the libraries a benchmark needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from measuring import CACHE, say

VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


def find(version: str) -> Path | None:
    """An interpreter of ``version`` (``3.11``): pyenv's newest, else the one on PATH."""
    folders = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    installed = sorted(folders, key=lambda path: _patch_level(path.parent.parent.name))
    if installed:
        return installed[-1]
    on_path = shutil.which(f"python{version}")
    return None if on_path is None else Path(on_path)


def found(versions: tuple[str, ...] = VERSIONS) -> dict[str, Path]:
    """The interpreters that are there; says which are not."""
    all_of_them = {version: find(version) for version in versions}
    for version, path in all_of_them.items():
        if path is None:
            say(f"Python {version} was not found under ~/.pyenv/versions or on PATH: left out")
    return {version: path for version, path in all_of_them.items() if path is not None}


def environment_of(version: str, python: Path, packages: tuple[str, ...], folder: Path) -> Path:
    """The Python of a virtual environment with ``packages``, made when it is not there yet."""
    made = folder / version / "bin" / "python"
    complete = folder / version / ".complete"
    wanted = " ".join(packages)
    if complete.exists() and complete.read_text() == wanted:
        return made
    say(f"making an environment of Python {version} in {folder / version}")
    subprocess.run([str(python), "-m", "venv", "--clear", str(folder / version)], check=True)
    subprocess.run(
        [str(made), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        check=True,
        stdout=sys.stderr,
    )
    complete.write_text(wanted)
    return made


def default_folder() -> Path:
    return CACHE / "environments"


def _patch_level(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name))
