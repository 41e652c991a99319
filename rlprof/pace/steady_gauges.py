"""Gauges over the steady phase: means of levels, sums of amounts."""

from __future__ import annotations

from collections.abc import Mapping

from rlprof.model.recording import Recording
from rlprof.pace.steps import Span


class SteadyGauges:
    """Gauges of the steady phase, by process."""

    def __init__(self, recording: Recording, steady: Span) -> None:
        windows = recording.windows[steady.first : steady.last + 1]
        self._lengths = {window.id: window.length_us for window in windows}
        self._values: dict[str, dict[int, dict[int, float]]] = {}
        for gauge in recording.gauges:
            if gauge.window in self._lengths:
                of_name = self._values.setdefault(gauge.name, {})
                of_name.setdefault(gauge.process, {})[gauge.window] = gauge.value

    @property
    def names(self) -> frozenset[str]:
        """Names of all that was measured."""
        return frozenset(self._values)

    def sums(self, name: str) -> dict[int, float]:
        found = self._values.get(name, {})
        return {process: sum(by_window.values()) for process, by_window in found.items()}

    def levels(self, name: str) -> dict[int, float]:
        """Means over the time for which they are known."""
        return {
            process: self._mean(by_window)
            for process, by_window in self._values.get(name, {}).items()
        }

    def seen(self, name: str, process: int) -> int:
        """Number of windows in which it was measured."""
        return len(self._values.get(name, {}).get(process, {}))

    def _mean(self, by_window: Mapping[int, float]) -> float:
        length = sum(self._lengths[window] for window in by_window)
        return sum(value * self._lengths[window] for window, value in by_window.items()) / length
