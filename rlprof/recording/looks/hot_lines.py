"""Lines of the user's by the CPU time that goes through them, while a run is recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from rlprof.model.recording import Frame
from rlprof.recording.redaction.literals import hide_literals
from rlprof.recording.sources import read_source
from rlprof.recording.stacks import StackTable
from rlprof.syntax.module import SourceModule, parse
from rlprof.syntax.origin import Origin, origin

FIRST_US: Final = 30_000
"""CPU time in a line, and in what it calls, from which on it is hot."""

_LEAST_SHARE: Final = 0.01
"""Least share of all CPU time that it must have too: of less nothing is told."""

_READING_S: Final = 0.05
"""CPU time in a window for reading and parsing files, of which one is read in any case: the target's signals wait for it."""
_LONGEST_FILE: Final = 200_000
"""Characters of a file that is parsed while the training runs: 0.1 to 0.3 s."""


class HotLines:
    def __init__(self, stacks: StackTable) -> None:
        """``stacks`` has the nodes of the run."""
        self._stacks = stacks
        self._ways: dict[int, tuple[Frame, ...]] = {}
        self._spent_us: dict[Frame, float] = {}
        self._of_process_us: dict[int, float] = {}
        self._texts: dict[str, str] = {}
        self._read_until_s = 0.0

    def add(self, process: int, eye: Mapping[int, float]) -> set[tuple[Frame, ...]]:
        """Book where the main thread of a process spent CPU time (µs), by node; the user's frames on the way to each node,
        innermost first. Called once for each window of a process.
        """
        self._read_until_s = time.thread_time() + _READING_S
        ways = set()
        for node, cpu_us in eye.items():
            way = self._way(node)
            ways.add(way)
            for frame in way:
                self._spent_us[frame] = self._spent_us.get(frame, 0.0) + cpu_us
        self._of_process_us[process] = self.of_process_us(process) + sum(eye.values())
        return ways

    def of_process_us(self, process: int) -> float:
        """CPU time of the main thread of a process."""
        return self._of_process_us.get(process, 0.0)

    def spent_us(self, frame: Frame) -> float:
        """CPU time of a line with all that it calls, over all processes."""
        return self._spent_us.get(frame, 0.0)

    def is_hot(self, frame: Frame, from_us: float = FIRST_US) -> bool:
        least_us = _LEAST_SHARE * sum(self._of_process_us.values())
        return self.spent_us(frame) >= max(least_us, from_us)

    @property
    def is_late(self) -> bool:
        """True if the time for reading in this window is over: the target's signals wait for it."""
        return time.thread_time() > self._read_until_s

    def module(self, frame: Frame) -> SourceModule | None:
        """The source in which the line stands, if it can be read; of some that were not read yet only in the next window."""
        if frame.file not in self._texts:
            if self.is_late:
                return None
            text = read_source(frame.file) or ""
            self._texts[frame.file] = text if len(text) <= _LONGEST_FILE else ""
        return parse(self._texts[frame.file])

    def module_without_secrets(self, frame: Frame) -> SourceModule | None:
        """The same with every literal hidden that may be a secret, as run files keep it."""
        return parse(hide_literals(self._texts.get(frame.file, "")))

    def _way(self, node: int) -> tuple[Frame, ...]:
        if node not in self._ways:
            frames = filter(_is_the_users, self._stacks.frames(node))
            self._ways[node] = tuple(dict.fromkeys(frames))
        return self._ways[node]


def _is_the_users(frame: Frame) -> bool:
    return origin(frame) is Origin.YOURS and not frame.file.startswith("<")
