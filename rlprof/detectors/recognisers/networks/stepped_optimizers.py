"""The lines at which a program steps its optimizers, and whether one of them steps several."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import Final

from rlprof.detectors.recognisers.line_time import SteadySearch
from rlprof.model.profile import Profile
from rlprof.model.recording import NO_PARENT, Frame
from rlprof.source.lines import last_name
from rlprof.syntax.module import Statement, called_name, receiver, variables_assigned
from rlprof.syntax.nodes import names_in

_STEPS: Final = re.compile(
    r"[/\\\\]torch[/\\\\]optim[/\\\\](optimizer\.py:Optimizer\.profile_hook_step\b|\w+\.py:\w+\.step$)"
)
"""Where torch steps an optimizer, by file and function."""


class SteppedOptimizers(SteadySearch):
    """The steps of optimizers that were seen on the critical threads."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        stepping = (
            self.lines.owner(node)
            for node in self.tree.hot_nodes()
            if _STEPS.search("{0.file}:{0.function}".format(self.tree.frame(node)))
        )
        self._owners = {owner for owner in stepping if owner != NO_PARENT}

    def calls(self) -> set[tuple[Frame, Frame | None]]:
        """Return the program's lines that step an optimizer, each with the line that its function was called from."""
        found: set[tuple[Frame, Frame | None]] = set()
        for own in self._owners:
            caller = self._caller(own)
            called_from = self.tree.frame(caller) if caller != NO_PARENT else None
            found.add((self.tree.frame(own), called_from))
        return found

    def are_of_a_loop(self) -> bool:
        """Tell whether a loop goes through optimizers, or through what has them: ``for agent in agents: agent.learn(batch)``."""
        return any(map(self._is_of_a_loop, self._owners))

    def _is_of_a_loop(self, node: int) -> bool:
        method = "step"
        while node != NO_PARENT:
            frame = self.tree.frame(node)
            owners = self._owners_of(frame, method)
            if owners & self._turned(frame):
                return True
            if "self" not in owners:
                return False
            # Its object may be one of those that the caller goes through.
            method, node = last_name(frame.function), self._caller(node)
        return False

    def _owners_of(self, frame: Frame, method: str) -> set[str]:
        """The variables that say whose ``method`` the line of ``frame`` calls: ``self`` and ``name`` of ``self.optimizers[name].step()``."""
        calls = (
            call
            for statement in self.lines.statements(frame)
            for call in statement.calls()
            if called_name(call) == method
        )
        return {name for call in calls if (on := receiver(call)) for name in names_in(on)}

    def _turned(self, frame: Frame) -> set[str]:
        """The variables of the loops around a line."""
        module = self.lines.module(frame.file)
        loops = module.loops_around(frame.line) if module is not None else ()
        turned = variables_assigned(*(loop.target for loop in loops))
        return turned.union(_of_comprehensions(self.lines.statements(frame)))

    def _caller(self, node: int) -> int:
        return self.lines.owner(self.tree.nodes[node].parent)


def _of_comprehensions(statements: Collection[Statement]) -> Iterator[str]:
    for statement in statements:
        for part in statement.walk():
            if isinstance(part, ast.comprehension):
                yield from variables_assigned(part.target)
