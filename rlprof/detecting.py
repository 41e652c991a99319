"""Run detectors: one that fails costs its own findings, and a note says so."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

from rlprof.model.recording import Note

SeenT = TypeVar("SeenT")
FoundT = TypeVar("FoundT")


def detect_all(
    detecting: Iterable[tuple[str, Callable[[SeenT], Iterable[FoundT]]]], seen: SeenT
) -> tuple[list[FoundT], dict[str, Note]]:
    """All findings in what was ``seen``, and a note on each detector that failed, by its id.

    ``detecting`` are pairs of a detector's id and what it calls for this kind of evidence.
    """
    found: list[FoundT] = []
    failures = {}
    for id_, detect in detecting:
        try:
            found += tuple(detect(seen))
        # A detector may come from another package, and a bug in one must not cost the whole report.
        except Exception as error:
            failures[id_] = _failure(id_, error)
    return found, failures


def _failure(id_: str, error: Exception) -> Note:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return Note(
        "error",
        "detector-failed",
        f"The detector {id_} failed ({type(error).__name__}: {error}, at "
        f"{place.filename}:{place.lineno}): what it looks for is not in this report. "
        "Please report it to its authors.",
    )
