"""All libraries that rlprof knows, and questions to them about files and frames."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final, TypeVar

from rlprof.libraries.base import ANY, Library
from rlprof.model.recording import Frame

_ABOUT_THEM: Final = frozenset({"base", "known", "questions", "step_sources"})
"""Modules of the package that ask the libraries."""

Told = TypeVar("Told")


def _find() -> Iterator[Library]:
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(import_module(package).__path__):
        if module.name not in _ABOUT_THEM:
            told = vars(import_module(f"{package}.{module.name}"))
            yield from (value for value in told.values() if isinstance(value, Library))


LIBRARIES: Final = tuple(_find())
"""In the order of their modules."""


def file_pattern(library: Library, pattern: str) -> str:
    """A regular expression for whole paths with ``/``, of one for those from the package's folder on."""
    packages = _packages(library)
    return f"/(?:{packages})/(?:{pattern})" if packages else f"/(?:{pattern})"


def files_of(told: Callable[[Library], str | None]) -> Callable[[str], bool]:
    """A test whether a file is one of those that any library has under ``told``."""
    patterns = ((library, told(library)) for library in LIBRARIES)
    files = re.compile(
        "|".join(file_pattern(library, own) for library, own in patterns if own is not None)
    )

    @lru_cache(maxsize=16384)
    def is_one(file: str) -> bool:
        return files.search(file.replace("\\", "/")) is not None

    return is_one


def functions_of(
    told: Callable[[Library], Mapping[str, Mapping[str, Told]]],
) -> Callable[[Frame], Told | None]:
    """A look-up of what the libraries have under ``told``: by a frame's file, then by its function."""
    known = [
        (re.compile(file_pattern(library, pattern)), functions)
        for library in LIBRARIES
        for pattern, functions in told(library).items()
    ]

    @lru_cache(maxsize=65536)
    def look_up(frame: Frame) -> Told | None:
        path = frame.file.replace("\\", "/")
        function = frame.function.rpartition(".")[2]
        for files, functions in known:
            if files.search(path):
                return functions.get(function) or functions.get(ANY)
        return None

    return look_up


def library_of(package: str) -> Library | None:
    """The one that a top-level package is of, if it is known."""
    return next(
        (library for library in LIBRARIES if re.fullmatch(_packages(library) or "-", package)), None
    )


def packages_of(chosen: Callable[[Library], bool]) -> Callable[[str], bool]:
    """A test whether a top-level package is one of the libraries that are ``chosen``."""
    names = re.compile("|".join(_packages(library) for library in LIBRARIES if chosen(library)))
    return lambda package: names.fullmatch(package) is not None


def _packages(library: Library) -> str:
    return "|".join((*map(re.escape, library.packages), *library.also))
