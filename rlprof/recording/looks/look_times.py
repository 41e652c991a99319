"""The times at which samplers are read, and the process tree is looked through: less often once a run has settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rlprof.recording.timeline import SETTLED_US

READ_US: Final = 100_000
"""How often samplers are read at first: a terminal holds 64 KiB back, which is 200 ms of the finest rate."""

SETTLED_READ_US: Final = 250_000
"""The same once they look less often."""

SCAN_US: Final = 250_000
"""How often the process tree is looked through at first."""

SETTLED_SCAN_US: Final = 1_000_000
"""The same from then on."""


@dataclass
class LookTimes:
    """The next look of each kind, in microseconds of the run."""

    next_read_us: int = 0
    _next_scan_us: int = 0

    def is_read_due(self, now_us: int) -> bool:
        """Tell whether samplers are to be read now; the next time comes later."""
        if now_us < self.next_read_us:
            return False
        self.next_read_us = now_us + (SETTLED_READ_US if now_us >= SETTLED_US else READ_US)
        return True

    def is_scan_due(self, now_us: int) -> bool:
        """Tell the same of the process tree."""
        if now_us < self._next_scan_us:
            return False
        self._next_scan_us = now_us + (SETTLED_SCAN_US if now_us >= SETTLED_US else SCAN_US)
        return True
