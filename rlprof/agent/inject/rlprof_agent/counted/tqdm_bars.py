"""tqdm: what its bars are told has been done."""

from __future__ import annotations

from ..counters import MOST_AT_ONCE, counter
from . import call_marks

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

    from .call_marks import Told


def count_updates(module: ModuleType) -> None:
    """A bar that is gone through tells ten times a second; the rest after the last of these is not counted."""
    iterations = counter("iterations:tqdm")

    def told(frame: FrameType, _bar: Any) -> Told:
        done = frame.f_locals.get("n")
        # Bars of bytes are told fractions, and those that are set back less than nothing.
        if type(done) is not int or not 0 < done <= MOST_AT_ONCE:
            return call_marks.NOT_AT_ALL
        return iterations, done

    call_marks.count(module.tqdm.update, iterations, told)
