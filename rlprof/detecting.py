"""Run a detector: one that fails costs its own findings, and a note says so."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from rlprof.model.recording import Note

SeenT = TypeVar("SeenT", contravariant=True)
FoundT = TypeVar("FoundT", covariant=True)


class AnyDetector(Protocol[SeenT, FoundT]):
    """A detector that looks into samples or traces."""

    @property
    def id(self) -> str: ...

    @property
    def detect(self) -> Callable[[SeenT], Iterable[FoundT]]: ...


def detected(
    detector: AnyDetector[SeenT, FoundT], seen: SeenT
) -> tuple[tuple[FoundT, ...], Note | None]:
    """The findings of ``detector``, or a note on its failure."""
    try:
        return tuple(detector.detect(seen)), None
    # A detector may come from another package, and a bug in one must not cost the whole report.
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return (), Note(
            "error",
            "detector-failed",
            f"The detector {detector.id} failed ({type(error).__name__}: {error}, at "
            f"{place.filename}:{place.lineno}): what it looks for is not in this report. "
            "Please report it to its authors.",
        )
