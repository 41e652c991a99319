"""Tell whether pure functions are called with inputs that they had before, as looks at them tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Final

_ALL_NEW: Final = 100
"""Calls with inputs of their own, all of them, after which nothing more is asked."""


class SeenInputs:
    """The inputs of one function at the looks of a run.

    The part of calls whose inputs occur once among those looked at estimates from above the part of calls whose inputs are new
    (Good 1953): looks are few, and all calls before one count.
    """

    def __init__(self) -> None:
        self._times: Counter[Hashable] = Counter()
        self._last: dict[int, Hashable] = {}

    def add(self, process: int, inputs: Hashable) -> None:
        """Take in the inputs at one look; the same twice in a row may be one call."""
        if self._last.get(process) != inputs:
            self._last[process] = inputs
            self._times[inputs] += 1

    @property
    def calls(self) -> int:
        """Calls that were looked at."""
        return self._times.total()

    @property
    def once(self) -> int:
        """Those of them with inputs that no other one had."""
        return sum(times == 1 for times in self._times.values())

    @property
    def are_all_new(self) -> bool:
        return self.once == self.calls >= _ALL_NEW
