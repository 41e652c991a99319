"""Keep a fault in one part of the recording from ending the others."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rlprof import __version__
from rlprof.errors import OutputError
from rlprof.model.recording import Note


class PartGuard:
    """Counts the faults of each part, and keeps the traceback of its first."""

    def __init__(self) -> None:
        self._faults: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Swallow what the block raises, but for a run file that takes no more."""
        try:
            yield
        except OutputError:
            raise
        except Exception as error:
            self._faults[name] += 1
            self._first.setdefault(name, "".join(traceback.format_exception(error)).rstrip())

    def notes(self) -> list[Note]:
        return [
            Note(
                "error",
                "recorder-part-failed",
                f"A bug in rlprof {__version__}: {name} failed {_often(times)} and is missing there. "
                f"The rest was recorded. Please report it:\n{self._first[name]}",
            )
            for name, times in self._faults.items()
        ]


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
