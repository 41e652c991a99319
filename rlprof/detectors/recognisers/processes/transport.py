"""Tell which nodes of the call tree carry data from one process to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Final

from rlprof.libraries.base import Transport
from rlprof.libraries.known import files_of
from rlprof.libraries.questions import transport_of
from rlprof.model.calibration import calibrated
from rlprof.model.counters import IPC_BYTES, IPC_MESSAGES
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame, Node

MESSAGE_US: Final = calibrated(
    150.0,
    unit="µs",
    source="51 for a short one through a pipe, 92 with the wake-ups of a vector environment on a "
    "full host",
    date="2026-11-21",
)
"""Most CPU time of one message, both ends together."""

BYTE_US: Final = calibrated(
    4.5 / 1024,
    unit="µs per byte",
    source="1.5 to 4.3 µs per KiB",
    date="2026-11-21",
)
"""Most CPU time for each byte, both ends: the more the larger the message is."""

LARGE_BYTES: Final = calibrated(
    64 * 1024,
    unit="bytes",
    source="arrays through a pipe, both ends: 51 µs for a few numbers, 75 for 16 KiB, 98 for 64 "
    "KiB, 280 for 256 KiB, 4 100 for 1 MiB",
    date="2026-11-21",
)
"""Mean message from which on its size costs as much as the message itself."""

_passes_on: Final = files_of(lambda library: library.passes_on)


def find_transport(nodes: Sequence[Node]) -> dict[int, Transport]:
    """The nodes whose own time is transport. A library's own vector workers are plumbing too."""
    found: dict[int, Transport] = {}
    inside: set[int] = set()
    for number, parent, frame in nodes:
        own = transport_of(frame)
        if own is not None:
            found[number] = own
            inside.add(number)
        elif parent != NO_PARENT and parent in inside:
            # What pickling calls, a ``__reduce__`` of the user's included, is pickling.
            found[number] = found[parent]
            inside.add(number)
        elif _passes_on(frame.file):
            found[number] = Transport.PLUMBING
    return found


def counted_messages(processes: Iterable[int], profile: Profile) -> dict[str, float]:
    """Messages and bytes that ``processes`` sent."""
    return {
        name: sum(profile.process_counts.get(process, {}).get(name, 0.0) for process in processes)
        for name in (IPC_MESSAGES, IPC_BYTES)
    }


def most_transport_us(counts: Mapping[str, float]) -> float:
    """Most CPU time that the counted messages can have taken; no limit where none were counted.

    Stacks of a process that sleeps between short pieces of work tend to be taken as it falls asleep,
    in its ``send``: what the messages cannot have taken is of the work before it.
    """
    messages = counts.get(IPC_MESSAGES, 0.0)
    if not messages:
        return inf
    return MESSAGE_US * messages + BYTE_US * counts.get(IPC_BYTES, 0.0)


def serves_queues(frame: Frame) -> bool:
    """Tell whether ``frame`` is the loop of a thread that sends for its process: a queue's, a sharer's."""
    file = frame.file.replace("\\", "/")
    function = frame.function.rpartition(".")[2]
    return (file.endswith("multiprocessing/queues.py") and function == "_feed") or (
        file.endswith("multiprocessing/resource_sharer.py") and function == "_serve"
    )


def below(nodes: Sequence[Node], roots: Iterable[int]) -> set[int]:
    """``roots`` and all that they call."""
    inside = set(roots)
    for number, parent, _ in nodes:
        if parent in inside:
            inside.add(number)
    return inside
