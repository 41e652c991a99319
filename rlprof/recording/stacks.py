"""Give each distinct frame and calling context of a run its id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rlprof.model.recording import NO_PARENT, Frame


class StackTable:
    """The calling-context tree of a run as it grows. Ids are dense and never change."""

    def __init__(self) -> None:
        self._frames: dict[Frame, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        self._places: list[tuple[int, Frame]] = []
        """Parent and frame of each node."""
        self._known: dict[tuple[Frame, ...], int] = {}
        self._new_frames: list[tuple[int, Frame]] = []
        self._new_nodes: list[tuple[int, int, int]] = []

    def node(self, frames: Sequence[Frame]) -> int:
        """The id of the node that ``frames`` (outermost first, not empty) lead to."""
        stack = tuple(frames)
        known = self._known.get(stack)
        if known is not None:
            return known
        parent = NO_PARENT
        for frame in stack:
            parent = self._child(parent, frame)
        self._known[stack] = parent
        return parent

    def frames(self, node: int) -> Iterator[Frame]:
        """Yield the frames that lead to ``node``, innermost first."""
        while node != NO_PARENT:
            node, frame = self._places[node]
            yield frame

    def take_new(self) -> tuple[list[tuple[int, Frame]], list[tuple[int, int, int]]]:
        """(id, frame) and (id, parent, frame id) of all that is new since the last call."""
        frames, self._new_frames = self._new_frames, []
        nodes, self._new_nodes = self._new_nodes, []
        return frames, nodes

    def _frame_id(self, frame: Frame) -> int:
        number = self._frames.get(frame)
        if number is None:
            number = self._frames[frame] = len(self._frames)
            self._new_frames.append((number, frame))
        return number

    def _child(self, parent: int, frame: Frame) -> int:
        place = self._frame_id(frame)
        number = self._nodes.get((parent, place))
        if number is None:
            number = self._nodes[parent, place] = len(self._nodes)
            self._places.append((parent, frame))
            self._new_nodes.append((number, parent, place))
        return number
