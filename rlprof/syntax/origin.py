"""The origin of a frame's code: yours, a library's, the standard library's or the runtime's."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from rlprof.model.recording import Frame

_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
_PACKAGE = re.compile(r".*[/\\](?:site|dist)-packages[/\\](?P<package>[^/\\]+)")
_STDLIB = re.compile(r"[/\\]lib(64)?[/\\]python3\.\d+t?[/\\]|[/\\]python3\d+\.zip[/\\]")
_GENERATED = re.compile(r"<(?!string>|stdin>|ipython-)")
"""Code that a library has written and compiled: ``<lambdifygenerated-1>``. A program that was given on the command line is ``<string>``, too."""
_RUN_BY_EVERY_IMPORT = frozenset({"_handle_fromlist", "parent"})
"""Functions of importlib that ``from package import name`` calls even where all is loaded."""


class Origin(Enum):
    YOURS = "yours"
    LIBRARY = "library"
    STDLIB = "stdlib"
    RUNTIME = "runtime"
    """The collector, torn stacks and other pseudo-frames."""


@lru_cache(maxsize=65536)
def origin_of_file(file: str) -> Origin:
    if not file:
        return Origin.RUNTIME
    if _INSTALLED.search(file):
        return Origin.LIBRARY
    if file.startswith("<frozen ") or _STDLIB.search(file):
        return Origin.STDLIB
    return Origin.LIBRARY if _GENERATED.match(file) else Origin.YOURS


@lru_cache(maxsize=65536)
def installed_package(file: str) -> str:
    """``…/site-packages/torch/nn/init.py`` -> ``torch``; empty for a file that is not installed."""
    found = _PACKAGE.match(file)
    return found["package"].removesuffix(".py") if found else ""


def origin(frame: Frame) -> Origin:
    return origin_of_file(frame.file)


def is_import_machinery(frame: Frame) -> bool:
    """Tell whether the frame belongs to an import under way.

    An import statement in a function runs some of the machinery each time, long after its module
    was loaded: that is the function's own cost.
    """
    return (
        frame.file.startswith(("<frozen importlib.", "<frozen zipimport"))
        and frame.function.rpartition(".")[2] not in _RUN_BY_EVERY_IMPORT
    )
