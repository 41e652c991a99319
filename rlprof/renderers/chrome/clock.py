"""The clock of a joined trace: that of the report, with room for what the report leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Inset(NamedTuple):
    """Time that is put in at a moment of the report's clock; all that comes later moves back."""

    at_us: int
    length_us: int


class Clock:
    def __init__(self, insets: Iterable[Inset] = ()) -> None:
        self._insets = sorted(insets)

    def start(self, us: float) -> int:
        """When that which begins at ``us`` begins: after what is put in at that moment."""
        return round(us) + sum(it.length_us for it in self._insets if it.at_us <= us)

    def end(self, us: float) -> int:
        """When that which ends at ``us`` ends: before what is put in at that moment."""
        return round(us) + sum(it.length_us for it in self._insets if it.at_us < us)
