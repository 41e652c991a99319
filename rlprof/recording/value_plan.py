"""Which lines' values agents are to look at, how often, and what they saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rlprof.model.recording import Frame, SeenValue
from rlprof.recording.hot_lines import FIRST_US, HotLines
from rlprof.recording.look_table import LookTold
from rlprof.recording.mailbox import MailboxReader
from rlprof.recording.step_plan import StepPlan
from rlprof.recording.tracked import ProcessWindow
from rlprof.syntax.operands import Operand, operands

_MOST_COST: Final = 0.0007
"""CPU time of looks over that of the process: under a thousandth."""
_FREE_US: Final = 5_000
"""What they may cost at the beginning."""
_MOST_AT_ONCE: Final = 6
"""Lines that an agent is asked for in one window, before it is known what they cost."""

_MOST_KEPT: Final = 8
"""Different descriptions of one name; what comes later takes the place of the last."""


class ValuePlan:
    def __init__(self, lines: HotLines, steps: StepPlan | None = None) -> None:
        """``steps``: which calls to have counted; None for none."""
        self._lines = lines
        self._steps = steps
        self._next_look_us: dict[Frame, float] = {}
        """The time from which on a line is to be looked at again."""
        self._seen: dict[tuple[str, str, int, str], list[SeenValue]] = {}

    def follow(
        self, process: int, mailbox: MailboxReader, window: ProcessWindow, now_us: int
    ) -> None:
        """Take in what a process told, and ask it for more where lines have become hot."""
        for told in mailbox.looks.take():
            self._keep(process, told, now_us)
        ways = self._lines.add(process, window.eye)
        if self._steps is not None:
            self._steps.heard(process, mailbox.looks.take_counted(), now_us)
            self._steps.counted(process, window.counts)
        if not ways or not mailbox.looks.is_open:
            return
        # Steps that are not counted are worth a look that costs too much.
        counted = self._steps.wanted(process, ways) if self._steps is not None else []
        may_cost_us = _FREE_US + _MOST_COST * self._lines.of_process_us(process)
        present = {frame for way in ways for frame in way} - {frame for frame, _ in counted}
        due = self._due(present) if mailbox.looks_cost_us <= may_cost_us else []
        wanted = (*counted, *due)[:_MOST_AT_ONCE]
        if wanted:
            looked_at = {frame for frame, _ in due}.intersection(mailbox.looks.ask(wanted))
            for frame in looked_at:
                self._next_look_us[frame] = 2 * self._lines.spent_us(frame)

    def seen(self) -> list[SeenValue]:
        return [value for values in self._seen.values() for value in values]

    def files(self) -> set[str]:
        """Those in which the functions and classes are defined that were seen."""
        return {file for value in self.seen() if (file := value.fields.get("file"))}

    def _due(self, present: Iterable[Frame]) -> list[tuple[Frame, Sequence[Operand]]]:
        spent_us, next_us = self._lines.spent_us, self._next_look_us
        due = [it for it in present if self._lines.is_hot(it, next_us.get(it, FIRST_US))]
        # Lines that nobody has looked at yet come first.
        due.sort(key=lambda frame: (frame in next_us, -spent_us(frame), frame))
        return [(frame, names) for frame in due if (names := self._operands(frame))]

    def _operands(self, frame: Frame) -> Sequence[Operand]:
        module = self._lines.module(frame)
        found = operands(module, frame.line) if module else ()
        if not any(step.startswith("s") for operand in found for step in operand.steps[1:]):
            return found
        # A key may be a secret: what is hidden in the source is not asked for.
        hidden = self._lines.module_without_secrets(frame)
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
