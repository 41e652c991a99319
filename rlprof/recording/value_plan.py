"""Which lines' values agents are to look at, how often, and what they saw."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rlprof.model.recording import Frame, SeenValue
from rlprof.recording.look_table import LookTold
from rlprof.recording.mailbox import MailboxReader
from rlprof.recording.redaction.literals import hide_literals
from rlprof.recording.sources import read_source
from rlprof.recording.stacks import StackTable
from rlprof.syntax.module import parse
from rlprof.syntax.operands import Operand, operands
from rlprof.syntax.origin import Origin, origin

_FIRST_LOOK_US: Final = 30_000
"""CPU time in a line, and in what it calls, before the first look; each further one comes after as much again."""

_LEAST_SHARE: Final = 0.01
"""Of all CPU time, that a line has to have for a look: of less nothing is told."""

_MOST_COST: Final = 0.0007
"""CPU time of looks over that of the process: under a thousandth."""
_FREE_US: Final = 1_500
"""What they may cost at the beginning."""
_MOST_AT_ONCE: Final = 6
"""Lines that an agent is asked for in one window, before it is known what they cost."""

_READING_S: Final = 0.05
"""CPU time in a window for reading and parsing files, of which one is read in any case: the target's signals wait for it."""
_LONGEST_FILE: Final = 200_000
"""Characters of a file that is parsed while the training runs: 0.1 to 0.3 s."""

_MOST_KEPT: Final = 8
"""Different descriptions of one name; what comes later takes the place of the last."""


class ValuePlan:
    def __init__(self, stacks: StackTable) -> None:
        """``stacks`` has the nodes of the run."""
        self._stacks = stacks
        self._users: dict[int, tuple[Frame, ...]] = {}
        """The user's lines on the way to a node."""
        self._spent_us: dict[Frame, float] = {}
        """CPU time of each line with all that it calls, over all processes."""
        self._next_look_us: dict[Frame, float] = {}
        """The time from which on it is to be looked at again."""
        self._of_process_us: dict[int, float] = {}
        self._seen: dict[tuple[str, str, int, str], list[SeenValue]] = {}
        self._texts: dict[str, str] = {}

    def follow(
        self,
        process: int,
        mailbox: MailboxReader,
        eye: Mapping[int, float],
        now_us: int,
    ) -> None:
        """Take in what a process told, and ask it for more where lines have become hot.

        ``eye`` is where its main thread spent CPU time (µs) since the last call, by node.
        """
        for told in mailbox.looks.take():
            self._keep(process, told, now_us)
        present: set[Frame] = set()
        for node, cpu_us in eye.items():
            for frame in self._users_on_the_way(node):
                self._spent_us[frame] = self._spent_us.get(frame, 0.0) + cpu_us
                present.add(frame)
        spent_us = self._of_process_us.get(process, 0.0) + sum(eye.values())
        self._of_process_us[process] = spent_us
        may_cost_us = _FREE_US + _MOST_COST * spent_us
        if present and mailbox.looks.is_open and mailbox.looks_cost_us <= may_cost_us:
            self._ask(mailbox, present)

    def _users_on_the_way(self, node: int) -> tuple[Frame, ...]:
        if node not in self._users:
            frames = filter(_is_the_users, self._stacks.frames(node))
            self._users[node] = tuple(dict.fromkeys(frames))
        return self._users[node]

    def seen(self) -> list[SeenValue]:
        return [value for values in self._seen.values() for value in values]

    def files(self) -> set[str]:
        """Those in which the functions and classes are defined that were seen."""
        return {file for value in self.seen() if (file := value.fields.get("file"))}

    def _ask(self, mailbox: MailboxReader, present: Iterable[Frame]) -> None:
        least_us = _LEAST_SHARE * sum(self._of_process_us.values())
        due = [
            frame
            for frame in present
            if self._spent_us[frame] >= max(least_us, self._next_look_us.get(frame, _FIRST_LOOK_US))
        ]
        due.sort(key=lambda frame: (-self._spent_us[frame], frame))
        wanted: list[tuple[Frame, Sequence[Operand]]] = []
        until = time.thread_time() + _READING_S
        for frame in due:
            if names := self._operands(frame):
                wanted.append((frame, names))
            if len(wanted) == _MOST_AT_ONCE or time.thread_time() > until:
                break  # Of the others in the next window: what was parsed is kept.
        if wanted:
            for frame in mailbox.looks.ask(wanted):
                self._next_look_us[frame] = 2 * self._spent_us[frame]

    def _operands(self, frame: Frame) -> Sequence[Operand]:
        if frame.file not in self._texts:
            text = read_source(frame.file) or ""
            self._texts[frame.file] = text if len(text) <= _LONGEST_FILE else ""
        text = self._texts[frame.file]
        module = parse(text)
        found = operands(module, frame.line) if module else ()
        if not any(step.startswith("s") for operand in found for step in operand.steps[1:]):
            return found
        # A key may be a secret: what is hidden in the source is not asked for.
        hidden = parse(hide_literals(text))
        told = operands(hidden, frame.line) if hidden else ()
        return [operand for operand in found if operand in told]

    def _keep(self, process: int, told: LookTold, now_us: int) -> None:
        for text, fields in told.values.items():
            seen = self._seen.setdefault((*told.frame, text), [])
            if seen and seen[-1].fields == fields:
                seen[-1] = seen[-1]._replace(last_us=now_us, looks=seen[-1].looks + 1)
                continue
            value = SeenValue(process, *told.frame, text, now_us, now_us, 1, fields)
            seen[_MOST_KEPT - 1 :] = [value]


def _is_the_users(frame: Frame) -> bool:
    return origin(frame) is Origin.YOURS and not frame.file.startswith("<")
