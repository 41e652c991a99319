"""What is asked of a check."""

from __future__ import annotations

from dataclasses import dataclass

from rlprof.gate.counters import CounterTolerance
from rlprof.gate.decision import DecisionSettings


@dataclass(frozen=True, slots=True)
class CheckSettings:
    decision: DecisionSettings
    tolerances: tuple[CounterTolerance, ...] = ()
    counters_only: bool = False
    in_turns: bool = False
    """Both runs of a pair at once, now the one, now the other."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Names of the counters that must be judged, and so must be told."""
        return tuple(it.name for it in self.tolerances if it.relative is not None)

    @property
    def first_pairs(self) -> int:
        """Two show whether a counter is the same in each run, and so is judged to the last event."""
        return 2 if self.counters_only else self.decision.looks[0]
