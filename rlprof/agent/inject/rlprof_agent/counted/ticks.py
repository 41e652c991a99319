"""Ticks, by which calls are counted."""

from __future__ import annotations

TYPE_CHECKING = False  # The real one lives in ``typing``, which takes 20 ms to import.
if TYPE_CHECKING:
    from typing import Any

MOST, SPARE = 16_384, 64
"""Most calls from one look to the next, and looks at once, by threads, or that are cut short by an error of the program's."""
TICKS = (False,) * SPARE + (True,) * MOST


class Ticks(reversed):  # type: ignore[type-arg]  # where it runs it takes no parameter
    """Goes through ``TICKS`` from the end, in C, and tells how many are left."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        """A copy has none, so that each call looks, which is a call of ``callable``."""
        return iter, ((),)
