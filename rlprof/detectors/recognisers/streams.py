"""Messages that go one way, one for each environment step or nearly so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.transport import find_transport, most_transport_us
from rlprof.model.calibration import calibrated
from rlprof.model.calltree import Cost, sum_costs
from rlprof.model.counters import IPC_BYTES, IPC_MESSAGES
from rlprof.model.finding import Range
from rlprof.model.profile import Profile

ONE_WAY: Final = 0.1
"""Most messages of those who make no steps, over those of who does: answers are as many as questions."""

SMALL_BYTES: Final = 8_192
"""Longest mean message: of a longer one the bytes are what takes the time."""

IN_BATCHES: Final = calibrated(
    Range(0.6, 0.95),
    unit="part of the messages' time",
    source="benchmarks/replacements.py: of 32 rows of 225 bytes 0.11 is left through a queue, 0.03 through a pipe, where they are one list; an "
    "actor-learner lost less to them",
    date="2026-11-24",
)
"""Part that goes where some dozens of steps are one message; pickling and unpickling them stays."""


class OneWayStream(NamedTuple):
    """Steps that are sent to somebody who does not answer."""

    messages: float
    bytes: float
    nodes: frozenset[int]
    """Nodes of the messages' time, in all processes."""
    spent: Cost
    """The time of these nodes."""

    @property
    def _most_us(self) -> float:
        """Time that the messages can have taken: who waits for room in a queue, or for somebody's next message, waits for the other one's work."""
        return most_transport_us({IPC_MESSAGES: self.messages, IPC_BYTES: self.bytes})

    @property
    def working_us(self) -> float:
        """Time that was worked on the messages."""
        return min(self.spent.busy_us, self._most_us)

    @property
    def removable(self) -> Range:
        """Part of the nodes' time that goes where some dozens of steps are one message."""
        most_us = min(self.spent.wall_us, self._most_us)
        low_us, high_us = IN_BATCHES.low * self.working_us, IN_BATCHES.high * most_us
        return Range(low_us / self.spent.wall_us, high_us / self.spent.wall_us)

    @property
    def bytes_each(self) -> float:
        return self.bytes / self.messages


def find_stream(profile: Profile) -> OneWayStream | None:
    """The stream of a run; None where there is none, or where messages are answered, or long."""
    sent = bytes_ = answers = 0.0
    for counts in profile.process_counts.values():
        messages = counts.get(IPC_MESSAGES, 0.0)
        if _steps(counts):
            sent += messages
            bytes_ += counts.get(IPC_BYTES, 0.0)
        else:
            answers += messages
    if not sent or answers > ONE_WAY * sent or bytes_ > SMALL_BYTES * sent:
        return None
    nodes = frozenset(find_transport(profile.steady.nodes))
    return OneWayStream(sent, bytes_, nodes, sum_costs(map(profile.steady.self_cost, nodes)))


def _steps(counts: Mapping[str, float]) -> float:
    return sum(count for name, count in counts.items() if name.partition(":")[0] == "steps")
