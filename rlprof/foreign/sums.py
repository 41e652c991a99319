"""The stacks of a foreign profile, summed up as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlprof.model.recording import (
    NO_PARENT,
    Frame,
    Node,
)
from rlprof.recording.redaction.arguments import redact_arguments

MOST_LINES: Final = 999_999_999


@dataclass(slots=True)
class SeenProcess:
    pid: int
    ppid: int
    argv: tuple[str, ...]
    start_method: str
    """As in ``Process``, where the profile tells it."""
    ticks: int = 0


@dataclass(slots=True)
class SeenThread:
    process: int
    tid: int
    name: str


@dataclass(slots=True)
class SeenTime:
    busy_us: int = 0
    idle_us: int = 0
    grown_bytes: int = 0
    released_bytes: int = 0

    @property
    def wall_us(self) -> int:
        return self.busy_us + self.idle_us


@dataclass
class StackSums:
    """Memory grows with distinct stacks alone. Processes, threads and nodes are named by number."""

    nodes: list[Node] = field(default_factory=list)
    processes: list[SeenProcess] = field(default_factory=list)
    threads: list[SeenThread] = field(default_factory=list)
    times: dict[tuple[int, int], SeenTime] = field(default_factory=dict)
    """By thread and node."""
    _children: dict[tuple[int, Frame], int] = field(default_factory=dict)
    _pids: dict[int, int] = field(default_factory=dict)
    _tids: dict[tuple[int, int], int] = field(default_factory=dict)

    def process(
        self, pid: int, *, ppid: int = 0, argv: Sequence[str] = (), start_method: str = "unknown"
    ) -> int:
        """Process ``pid``; what is told of it counts at the first call."""
        number = self._pids.get(pid)
        if number is None:
            number = self._pids[pid] = len(self.processes)
            self.processes.append(SeenProcess(pid, ppid, redact_arguments(argv), start_method))
        return number

    def thread(self, process: int, tid: int, name: str = "") -> int:
        number = self._tids.get((process, tid))
        if number is None:
            number = self._tids[process, tid] = len(self.threads)
            self.threads.append(SeenThread(process, tid, name))
        elif name and not self.threads[number].name:
            self.threads[number].name = name
        return number

    def child(self, parent: int, frame: Frame) -> int:
        """The node of ``frame`` called from node ``parent``, or from nowhere (``NO_PARENT``)."""
        number = self._children.get((parent, frame))
        if number is None:
            number = self._children[parent, frame] = len(self.nodes)
            # No file has as many lines: what is damaged tells such numbers, and reports keep 32 bits.
            known = frame if 0 <= frame.line <= MOST_LINES else frame._replace(line=0)
            self.nodes.append(Node(number, parent, known))
        return number

    def node(self, frames: Iterable[Frame]) -> int:
        """The node of a stack, outermost frame first; not of an empty one."""
        node = NO_PARENT
        for frame in frames:
            node = self.child(node, frame)
        return node

    def add(
        self, thread: int, node: int, *, busy_us: int = 0, idle_us: int = 0, ticks: int = 1
    ) -> SeenTime:
        """Add time and ticks; returns the sum, for what else is known of them."""
        time = self.times.get((thread, node))
        if time is None:
            time = self.times[thread, node] = SeenTime()
        time.busy_us += busy_us
        time.idle_us += idle_us
        self.processes[self.threads[thread].process].ticks += ticks
        return time

    @property
    def total_us(self) -> int:
        return sum(time.wall_us for time in self.times.values())

    def files(self) -> Iterator[str]:
        """Yield the file of every node that has one."""
        return (node.frame.file for node in self.nodes if node.frame.file)
