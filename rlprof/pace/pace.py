"""The pace of a run: all that a check and a study of scaling ask of its recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rlprof.model.activity import WaitKind
from rlprof.model.profile import Phase, Throughput
from rlprof.model.recording import Recording
from rlprof.pace.hangs import find_hang
from rlprof.pace.phases import RunPhases, find_phases, phases_of
from rlprof.pace.steps import Span, StepCounts, count_steps
from rlprof.pace.throughput import measure_throughput
from rlprof.pace.times import Times, importing_nodes, sum_times
from rlprof.source.wait_kinds import kinds_of_waits


@dataclass(frozen=True, slots=True)
class Pace:
    counts: StepCounts
    importing: bytearray
    """1 for each node at or under an import."""
    times: Times
    wait_kinds: Mapping[int, WaitKind]
    """As in ``Profile.wait_kinds``."""
    found: RunPhases
    """By windows."""
    phases: tuple[Phase, ...]
    """The same by time, in order; together they cover the run."""
    throughput: Throughput

    @property
    def steady(self) -> Span | None:
        """Its windows."""
        return self.found.steady

    @property
    def steady_steps(self) -> float:
        """0 where updates stand in for the rate: they are no steps."""
        if self.steady is None or self.throughput.unit != "steps":
            return 0.0
        span = slice(self.steady.first, self.steady.last + 1)
        return sum(sum(steps[span]) for steps in self.counts.per_window.values())


def measure_pace(recording: Recording) -> Pace:
    """Measure the pace of any recording, an empty one included."""
    counts = count_steps(recording)
    importing = importing_nodes(recording.nodes)
    times = sum_times(recording, importing)
    kinds = kinds_of_waits(recording)
    found = find_phases(recording, counts, times, find_hang(recording, times, kinds))
    return Pace(
        counts=counts,
        importing=importing,
        times=times,
        wait_kinds=kinds,
        found=found,
        phases=phases_of(found, recording.windows),
        throughput=measure_throughput(recording, counts, found),
    )
