"""Sums over the samples: time per thread and window."""

from __future__ import annotations

from collections.abc import Container, Sequence

from rlprof.libraries.base import Duty
from rlprof.libraries.questions import duty_of
from rlprof.model.recording import NO_PARENT, UNLOCATED, Frame, Node, Recording
from rlprof.syntax.origin import Origin, is_import_machinery, origin


class Times:
    """Time per (thread, window), as flat lists: see ``at``."""

    __slots__ = (
        "busy_us",
        "cpu_us",
        "first_network_call",
        "idle_us",
        "import_us",
        "unlocated_idle_us",
        "unlocated_us",
        "waiting_import_us",
        "windows",
    )

    def __init__(self, threads: int, windows: int) -> None:
        cells = threads * windows
        self.windows = windows
        self.busy_us = [0] * cells
        self.idle_us = [0] * cells
        self.cpu_us = [0] * cells
        self.import_us = [0] * cells
        """Wall time under an import."""
        self.waiting_import_us = [0] * cells
        """The part of it that is idle: reading from disk."""
        self.unlocated_us = [0] * cells
        """Wall time of which nobody knows the line."""
        self.unlocated_idle_us = [0] * cells
        """The part of it that is idle."""
        self.first_network_call: int | None = None
        """The first window in which a network was asked; None where none was seen."""

    def at(self, thread: int, window: int) -> int:
        """The index of a cell in every list."""
        return thread * self.windows + window

    def span(self, thread: int, first: int, last: int) -> slice:
        """The cells of a thread from window ``first`` to ``last``, both included."""
        start = thread * self.windows
        return slice(start + first, start + last + 1)


def importing_nodes(nodes: Sequence[Node]) -> bytearray:
    """1 for each node at or under an import that is under way.

    A module of yours that is being imported runs your own code: it may well be the training. What a library
    writes as text and executes, as ``dataclass`` does, is the library's own.
    """
    importing = bytearray(len(nodes))
    for number, parent, frame in nodes:
        if is_import_machinery(frame):
            importing[number] = 1
        elif parent != NO_PARENT and (
            origin(frame) is not Origin.YOURS or _is_written_by(nodes[parent].frame, frame)
        ):
            importing[number] = importing[parent]
    return importing


def _is_written_by(caller: Frame, frame: Frame) -> bool:
    """Tell whether a frame of no file, such as ``<string>``, runs what a library's ``caller`` has written."""
    return frame.file.startswith("<") and origin(caller) is not Origin.YOURS


def sum_times(recording: Recording, importing: bytearray) -> Times:
    count = len(recording.windows)
    times = Times(len(recording.threads), count)
    nodes = recording.nodes
    busy_us, idle_us, cpu_us = times.busy_us, times.idle_us, times.cpu_us
    asking = {node.id for node in recording.nodes if duty_of(node.frame) is Duty.ASKS_NETWORK}
    first_call = count
    for window, thread, node, wall, idle, cpu in recording.samples.rows():
        cell = thread * count + window
        busy_us[cell] += wall - idle
        idle_us[cell] += idle
        cpu_us[cell] += cpu
        if nodes[node].frame.function in UNLOCATED:
            times.unlocated_us[cell] += wall
            times.unlocated_idle_us[cell] += idle
        if window < first_call and asking and _is_under(node, asking, recording.nodes):
            first_call = window
        if importing[node]:
            times.import_us[cell] += wall
            times.waiting_import_us[cell] += idle
    times.first_network_call = first_call if first_call < count else None
    return times


def _is_under(node: int, of: Container[int], nodes: Sequence[Node]) -> bool:
    while node != NO_PARENT and node not in of:
        node = nodes[node].parent
    return node != NO_PARENT
