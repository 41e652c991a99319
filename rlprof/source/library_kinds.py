"""Kinds of what functions of libraries do, by file and name: which output they write, what they ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from rlprof.libraries.base import Library
from rlprof.libraries.known import files_of
from rlprof.model.recording import Frame
from rlprof.source.lines import last_name
from rlprof.syntax.origin import Origin, origin_of_file

Kind = TypeVar("Kind")


def kind_of(
    functions: Mapping[Kind, str], told: Callable[[Library], Mapping[Kind, str]]
) -> Callable[[Frame], Kind | None]:
    """A look-up of the first kind whose files, as libraries have them under ``told``, and whose functions a frame is of.

    ``functions`` has a regular expression for each kind, in the order in which they count. Files of the user's are of none.
    """
    known = [(kind, _files(kind, told), re.compile(pattern)) for kind, pattern in functions.items()]

    @lru_cache(maxsize=4096)
    def kinds_in(file: str) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
        if origin_of_file(file) not in (Origin.LIBRARY, Origin.STDLIB):
            return ()
        return tuple((kind, names) for kind, is_one, names in known if is_one(file))

    @lru_cache(maxsize=65536)
    def look_up(frame: Frame) -> Kind | None:
        name = last_name(frame.function)
        return next((kind for kind, names in kinds_in(frame.file) if names.search(name)), None)

    return look_up


def _files(kind: Kind, told: Callable[[Library], Mapping[Kind, str]]) -> Callable[[str], bool]:
    return files_of(lambda library: told(library).get(kind))
