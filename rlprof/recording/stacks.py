"""Give each distinct frame and calling context of a run its id."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rlprof.agent.inject.rlprof_agent.layout import UNNAMED_FILE
from rlprof.model.recording import NO_PARENT, Frame, Note
from rlprof.units import count

MAX_NODES: Final = 60_000
"""Most nodes of a run: each takes 230 bytes here, and 1.4 KB and 70 µs of its report. A search in plain Python has ever new stacks;
of further ones the nearest caller that is known stands for the rest."""
MAX_KNOWN: Final = 100_000
"""Stacks whose node is remembered, before that begins anew."""


class StackTable:
    """The calling-context tree of a run as it grows. Ids are dense and never change."""

    def __init__(self) -> None:
        self._frames: dict[Frame, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._places: list[tuple[int, Frame]] = []
        """Parent and frame of each node."""
        self._lines: list[int] = []
        """The id of its frame."""
        self._all_frames: list[Frame] = []
        self._is_full = False
        """True if callers stand for what they called."""
        self._known: dict[tuple[Frame, ...], int] = {}
        self._files: dict[str, set[str]] = {}
        """Those in which functions of a name are, by that name."""
        self._new_frames: list[tuple[int, Frame]] = []
        self._new_nodes: list[tuple[int, int, int]] = []

    def node(self, frames: Sequence[Frame]) -> int:
        """The id of the node that ``frames`` (outermost first, not empty) lead to."""
        stack = tuple(frames)
        known = self._known.get(stack)
        if known is not None:
            return known
        named = [self._named(frame) for frame in stack]
        parent = NO_PARENT
        for frame in named:
            child = self._child(parent, frame)
            if child == NO_PARENT:
                self._is_full = True
                break
            parent = child
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        # A file that is not known yet may be so at the next stack.
        if not any(frame.file == UNNAMED_FILE for frame in named):
            self._known[stack] = parent
        return parent

    def _named(self, frame: Frame) -> Frame:
        """``frame`` with the file of its function, where it has none: agents know it, and samplers do not."""
        if frame.file != UNNAMED_FILE:
            return frame
        files = self._files.get(frame.function, ())
        return frame._replace(file=next(iter(files))) if len(files) == 1 else frame

    @property
    def known(self) -> Collection[Frame]:
        """All frames so far."""
        return self._frames.keys()

    def frames(self, node: int) -> Iterator[Frame]:
        """Yield the frames that lead to ``node``, innermost first."""
        while node != NO_PARENT:
            node, frame = self._places[node]
            yield frame

    def callers(self, node: int) -> Iterator[int]:
        """Yield the nodes above ``node``, the nearest first."""
        node, _ = self._places[node]
        while node != NO_PARENT:
            yield node
            node, _ = self._places[node]

    def call(self, node: int) -> tuple[int, str, str]:
        """The call of a function that ``node`` is a line of: its caller's node, its file and its name."""
        caller, frame = self._places[node]
        return caller, frame.file, frame.function

    def line(self, node: int) -> int:
        """The number of its frame: nodes of one line have the same."""
        return self._lines[node]

    def caller(self, node: int) -> int:
        """The node above; ``NO_PARENT`` of an outermost one."""
        return self._places[node][0]

    def frame(self, line: int) -> Frame:
        """The frame of a line, by the number."""
        return self._all_frames[line]

    def below(self, caller: int, line: int) -> int:
        """The node of a line that ``caller`` calls; ``NO_PARENT`` where it would be one too many."""
        return self._child(caller, self._all_frames[line])

    def notes(self) -> list[Note]:
        """A remark where there were too many stacks."""
        if not self._is_full:
            return []
        return [
            Note(
                "info",
                "stacks-cut",
                f"The program has more than {count(MAX_NODES)} different stacks, as a recursive search has: of later ones "
                "the time is on the callers that were known.",
            )
        ]

    def take_new(self) -> tuple[list[tuple[int, Frame]], list[tuple[int, int, int]]]:
        """(id, frame) and (id, parent, frame id) of all that is new since the last call."""
        frames, self._new_frames = self._new_frames, []
        nodes, self._new_nodes = self._new_nodes, []
        return frames, nodes

    def _frame_id(self, frame: Frame) -> int:
        number = self._frames.get(frame)
        if number is None:
            number = self._frames[frame] = len(self._frames)
            self._all_frames.append(frame)
            self._new_frames.append((number, frame))
            if frame.file != UNNAMED_FILE:
                self._files.setdefault(frame.function, set()).add(frame.file)
        return number

    def _child(self, parent: int, frame: Frame) -> int:
        """The child of ``parent``; ``NO_PARENT`` where it would be one too many. Each stack has one node at least."""
        if len(self._nodes) >= MAX_NODES and parent != NO_PARENT:
            return self._nodes.get((parent, self._frames.get(frame, -1)), NO_PARENT)
        place = self._frame_id(frame)
        number = self._nodes.get((parent, place))
        if number is None:
            number = self._nodes[parent, place] = len(self._nodes)
            self._places.append((parent, frame))
            self._lines.append(place)
            self._new_nodes.append((number, parent, place))
        return number
