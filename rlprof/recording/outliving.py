"""Tell of processes that go on once the program that rlprof started has ended, in words for the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlprof.model.recording import Note

PATIENCE_S: Final = 0.3
"""For workers to end that notice the end of their parent: they have nothing to tell."""

_NAMED: Final = 4
"""Pids listed."""


def notes_of_outliving(pids: Sequence[int]) -> list[Note]:
    if not pids:
        return []
    named = ", ".join(map(str, pids[:_NAMED])) + (", …" if len(pids) > _NAMED else "")
    who, were = ("Process", "was") if len(pids) == 1 else ("Processes", "were")
    return [
        Note(
            "warning",
            "went-on-after-the-end",
            f"{who} {named} went on after the program's end and {were} not recorded further: `rlprof run` records as long "
            "as the process that it started lives. Where the training goes on there, start it in the foreground.",
        )
    ]
