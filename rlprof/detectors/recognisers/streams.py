"""Messages that go one way, one for each environment step or nearly so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rlprof.detectors.recognisers.transport import find_transport
from rlprof.model.counters import IPC_BYTES, IPC_MESSAGES
from rlprof.model.profile import Profile

ONE_WAY: Final = 0.1
"""Most messages of those who make no steps, over those of who does: answers are as many as questions."""

SMALL_BYTES: Final = 8_192
"""Longest mean message: of a longer one the bytes are what takes the time."""


class Stream(NamedTuple):
    """Steps that are sent to somebody who does not answer."""

    messages: float
    bytes: float
    nodes: frozenset[int]
    """Nodes of the messages' time, in all processes."""

    @property
    def bytes_each(self) -> float:
        return self.bytes / self.messages


def find_stream(profile: Profile) -> Stream | None:
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
    return Stream(sent, bytes_, frozenset(find_transport(profile.steady.nodes)))


def _steps(counts: Mapping[str, float]) -> float:
    return sum(count for name, count in counts.items() if name.partition(":")[0] == "steps")
