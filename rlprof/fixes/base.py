"""The contract of a fix: a change of the user's source for some findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rlprof.model.finding import Finding
from rlprof.source.value import Value


class CannotFixError(Exception):
    """The fix cannot be made exactly; the message says why, as the second half of a sentence."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line that a finding points at, as its file is now."""

    file: str
    line: int
    known: Mapping[str, Value]
    """Values that the operands of its statement were seen to have, by their text."""

    @property
    def short(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


@dataclass(frozen=True, slots=True)
class Case:
    """A finding, with the files that may be changed for it."""

    finding: Finding
    places: Sequence[Place]
    """The heaviest first."""
    texts: Mapping[str, str]
    """The user's files as they are now, line ends included."""
    script: str = ""
    """The file that the run started; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Files as the fix has them."""

    texts: Mapping[str, str]
    """Those that change, alone."""
    left: Sequence[str] = ()
    """Places that stay as they are, each with the reason."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to change the source for some findings."""

    id: str
    """Lower-case words joined by hyphens."""
    does: str
    """Its effect on the source, for lists: a verb in the third person and its object."""
    findings: frozenset[str]
    """The ids of the detectors whose findings it is for."""
    rewrite: Callable[[Case], Rewriting]
    """The new texts. Reads and writes no file. Raises :class:`CannotFixError` where it cannot be made exactly."""
    reads_functions: bool = False
    """True if it is right only while the whole functions around the lines are what was recorded."""
    remark: str = ""
    """Differences that the program's results may have, and what the change asks of the installation."""
