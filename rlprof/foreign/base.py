"""The contract of a foreign format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rlprof.errors import RunFileError
from rlprof.model.recording import Recording


@dataclass(frozen=True, slots=True)
class ForeignFormat:
    """A format of profiles, told by its content: names of files say nothing."""

    name: str
    """As documents call it: ``austin's text``."""
    recognises: Callable[[bytes], bool]
    """Whether a file that begins with these bytes is in this format."""
    read: Callable[[BinaryIO, Path], Recording]
    """The whole file, from its first byte on. The path serves its name and its date alone.

    Raises :class:`RunFileError` when the file is damaged or holds nothing.
    """


def damaged(path: Path, what: str) -> RunFileError:
    return RunFileError(
        f"the profile {path} is damaged: {what}",
        slug="profile-damaged",
        hint="it may have been cut while it was written or copied; copy it again or record it anew",
    )


def without_time(path: Path, what: str) -> RunFileError:
    return RunFileError(
        f"the profile {path} holds no time: {what}",
        slug="profile-without-time",
        hint="rlprof reads profiles of time: record one with `austin -f`, `py-spy record -f raw` or "
        "`rlprof run`",
    )
