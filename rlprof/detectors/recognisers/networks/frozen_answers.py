"""Networks that nothing trains, asked in each epoch for rows of the same data: their answers stay the same."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.detectors.recognisers.networks.recorded_graphs import asks_network
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import Line, UserLines
from rlprof.source.values import asked_network
from rlprof.syntax.epochs import Epochs, RunningLine, epochs_around
from rlprof.syntax.module import Statement

LOOKS: Final = 2
"""That found a network as it was; the second comes when the time of its line has doubled."""

_MOST_LEVELS: Final = 4
"""Functions that are looked at from the call up to the loop."""


@dataclass(slots=True)
class FrozenAnswers:
    """One network that is asked anew in each epoch."""

    network: str
    """As it is written where it is asked."""
    place: Line
    data: Collection[str]
    epochs: int | None
    """Turns of the loop; None where nobody knows."""
    loop_line: int
    nodes: set[int] = field(default_factory=set)


class FrozenSearch(SteadySearch):
    """Finds them in the steady phase."""

    def __init__(self, profile: Profile, lines: UserLines) -> None:
        super().__init__(profile, lines)
        self._known: dict[tuple[Frame, ...], FrozenAnswers | None] = {}

    def found(self) -> Collection[FrozenAnswers]:
        for top in self.tree.topmost(asks_network) if self.values else ():
            stack = [*self._stack(top)]
            told = self._told(tuple(self.tree.frame(node) for node in stack))
            if told is not None:
                told.nodes.update(self.tree.subtree(top))
        found = {id(each): each for each in self._known.values() if each is not None and each.nodes}
        return found.values()

    def _stack(self, node: int) -> Iterator[int]:
        """Yield the user's line that asks, and those that call its function."""
        node = self.lines.owner(node)
        for _ in range(_MOST_LEVELS):
            if node == NO_PARENT or not self.lines.is_yours(self.tree.frame(node)):
                return
            yield node
            node = self.tree.nodes[node].parent

    def _told(self, frames: tuple[Frame, ...]) -> FrozenAnswers | None:
        if frames not in self._known:
            self._known[frames] = self._read(frames) if frames else None
        return self._known[frames]

    def _read(self, frames: tuple[Frame, ...]) -> FrozenAnswers | None:
        places = []
        for frame in frames:
            module = self.lines.module(frame.file)
            if module is None:
                break
            places.append(RunningLine(module, module.function_at(frame.line), frame.line))
        asked = self._asked(frames[0], places[0]) if places else None
        epochs = epochs_around(places, *asked) if asked is not None else None
        if asked is None or epochs is None:
            return None
        count = self._count(epochs)
        if count == 1:
            return None
        line = Line(frames[0].file, frames[0].line, frames[0].function)
        network = ast.unparse(asked[1].func)
        return FrozenAnswers(network, line, epochs.data, count, epochs.loop.lineno)

    def _asked(self, frame: Frame, place: RunningLine) -> tuple[Statement, ast.Call] | None:
        """Return the one call of a frozen network on the line; None where there is none, or another network may be asked, too."""
        asked: list[tuple[Statement, ast.Call]] = []
        for statement in place.module.statements_at(frame.line):
            known = self.values.of(frame.file, statement)
            for call in statement.calls():
                network = asked_network(call, known)
                if network is not None:
                    if not network.is_frozen(LOOKS):
                        return None
                    asked.append((statement, call))
        return asked[0] if len(asked) == 1 else None

    def _count(self, epochs: Epochs) -> int | None:
        through = epochs.loop.iter
        parts = through.args if isinstance(through, ast.Call) else []
        return self.parameters.value(parts[0]) if len(parts) == 1 else None
