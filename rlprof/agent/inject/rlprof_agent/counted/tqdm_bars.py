"""tqdm: what its bars are told has been done."""

from __future__ import annotations

from .. import aside
from ..counters import MOST_AT_ONCE, counter
from .dressing import in_place_of

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def count_updates(module: ModuleType) -> None:
    """A bar that is gone through tells ten times a second; the rest after the last of these is not counted."""
    iterations = counter("iterations:tqdm")
    bars: Any = module.tqdm
    original, most = bars.update, MOST_AT_ONCE
    __class__ = None

    def counted(self: Any, n: Any = 1) -> Any:
        if False:
            return __class__
        try:
            result = original(self, n)
        except BaseException as error:
            BaseException.with_traceback(error, error.__traceback__ and error.__traceback__.tb_next)
            raise
        # Bars of bytes are told fractions, and those that are set back less than nothing.
        if type(n) is int and 0 < n <= most:
            iterations.cell[0] += n
        return result

    aside.Replaced(bars, "update", in_place_of(original, counted))
