"""Tell whether the clock's stacks of a process can be believed where there are the eye's, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from rlprof.model.calibration import calibrated

TRUSTED_TORN_SHARE: Final = 0.02
"""Below this share of torn stacks the clock's own stacks are used even where there is an eye.
The eye books a long operator (``a @ b``) on the next line that calls or loops, since CPython
runs signal handlers only there; a stack that stands still is never torn, so the clock has it."""

TRUSTED_SHALLOW_SHARE: Final = calibrated(
    0.05,
    unit="part of the busy time",
    source="a table that prints each step, Python 3.11: 0.08 to 0.17 of the clock's time was on the line that calls what "
    "prints and 0.00 of the eye's, with no torn stacks; where it prints the clock had 0.62 to 0.72, the eye 0.80, in "
    "truth 0.80",
    date="2026-11-23",
)
"""The same of stacks that end at a line which calls the program's own code, beyond the eye's. A sampler that reads a frame
while the frame calls sees it stand at the call, though what it called is where the time goes: the stack looks whole."""

_FORGET_TORN: Final = 0.9
"""Weight of the past from window to window: half of it is 1.6 s old."""

_FORGET_SHALLOW: Final = 0.97
"""The same: 5.6 s."""

_FEWEST_US: Final = 500_000
"""Time of either before which a share of it is luck."""

_MOSTLY_CALLS: Final = 4.0
"""Time below a line over its own, from which on it does little but call."""

_NOWHERE: Final = (0.0, 0.0)


class ClockTrust:
    """Trust in the clock of the main thread of one process."""

    def __init__(self, callers: Callable[[int], Iterable[int]]) -> None:
        """``callers`` gives the nodes above a node."""
        self._callers = callers
        self._torn_us = self._busy_us = 0.0
        self._eye: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
        """CPU time at a node, and below it."""
        self._clock_us = self._shallow_us = 0.0
        self._eye_us = self._eye_shallow_us = 0.0

    def heard(self, whole: Mapping[int, int], torn_us: int, busy_us: int) -> None:
        """Take in what the clock said of a window: busy time by node, and of torn stacks, of ``busy_us`` in all."""
        self._torn_us = self._torn_us * _FORGET_TORN + torn_us
        self._busy_us = self._busy_us * _FORGET_TORN + busy_us
        self._clock_us = self._clock_us * _FORGET_SHALLOW + sum(whole.values())
        self._shallow_us = self._shallow_us * _FORGET_SHALLOW + self._on_callers(whole)

    def saw(self, eye: Mapping[int, float]) -> None:
        """Take in what the eye said."""
        for node, us in eye.items():
            self._eye[node][0] += us
            for caller in self._callers(node):
                self._eye[caller][1] += us
        self._eye_us = self._eye_us * _FORGET_SHALLOW + sum(eye.values())
        self._eye_shallow_us = self._eye_shallow_us * _FORGET_SHALLOW + self._on_callers(eye)

    @property
    def holds(self) -> bool:
        if self._torn_us > TRUSTED_TORN_SHARE * self._busy_us:
            return False
        if min(self._clock_us, self._eye_us) < _FEWEST_US:
            return True
        more = self._shallow_us / self._clock_us - self._eye_shallow_us / self._eye_us
        return more <= TRUSTED_SHALLOW_SHARE

    def _on_callers(self, times: Mapping[int, float]) -> float:
        """Time on lines that do little but call, as the eye has it."""
        found = 0.0
        for node, us in times.items():
            own, below = self._eye.get(node, _NOWHERE)
            if below > _MOSTLY_CALLS * own:
                found += us
        return found
