"""Which calls are to be counted as steps, in a program whose steps nothing else counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rlprof.libraries.step_sources import STEP_SOURCES
from rlprof.model.counters import STEPS_RECOGNISED
from rlprof.model.recording import Frame, Note
from rlprof.recording.hot_lines import FIRST_US, HotLines
from rlprof.recording.look_table import CountTold, calls_of
from rlprof.syntax.operands import Operand
from rlprof.syntax.steps import StepCall, step_call

_NAMED: Final = 3
"""Calls that the report names."""


class StepPlan:
    """Finds the lines that step an environment by their source; the agent judges by what they return."""

    def __init__(self, lines: HotLines) -> None:
        self._lines = lines
        self._is_over = False
        self._next_us: dict[tuple[int, Frame], float] = {}
        """The time of a line from which on a process is to be asked again."""
        self._asked: dict[Frame, StepCall] = {}
        self._others: set[Frame] = set()
        """Lines whose calls return something else."""
        self._counted: dict[tuple[int, Frame], int] = {}
        """When the first of a process was counted, in µs of the run."""

    def heard(self, process: int, told: Iterable[CountTold], now_us: int) -> None:
        for frame, makes_steps in told:
            if makes_steps:
                self._counted.setdefault((process, frame), now_us)
            else:
                self._others.add(frame)

    def counted(self, names: Iterable[str]) -> None:
        """What a process counts by itself; where that tells its steps, nothing is looked for any more."""
        self._is_over |= any(name in STEP_SOURCES and name != STEPS_RECOGNISED for name in names)

    def wanted(
        self, process: int, ways: Iterable[Sequence[Frame]]
    ) -> list[tuple[Frame, Sequence[Operand]]]:
        """What to ask a process for; ``ways`` are its stacks, innermost first."""
        if self._is_over:
            return []
        found = {}
        for way in ways:
            hot = [frame for frame in reversed(way) if self._lines.is_hot(frame)]
            # What the outermost steps may step others in turn.
            frame = next(filter(self._call, hot), None)
            call = self._call(frame) if frame is not None else None
            if frame is not None and call is not None and self._is_due(process, frame):
                self._next_us[process, frame] = 2 * self._lines.spent_us(frame)
                self._asked[frame] = found[frame] = call
        return [(frame, calls_of(call.method)) for frame, call in found.items()]

    def _is_due(self, process: int, frame: Frame) -> bool:
        is_known = frame in self._others or (process, frame) in self._counted
        return not is_known and self._lines.is_hot(
            frame, self._next_us.get((process, frame), FIRST_US)
        )

    def _call(self, frame: Frame) -> StepCall | None:
        module = self._lines.module(frame)
        return step_call(module, frame.line) if module else None

    def notes(self) -> list[Note]:
        """What was counted, and how to count something else."""
        if self._is_over or not self._counted:
            return []
        frames = dict.fromkeys(frame for _, frame in self._counted)
        calls = [
            f"{self._asked[frame].text} in {frame.function} (line {frame.line} of {frame.file.rpartition('/')[2]})"
            for frame in frames
        ]
        named = ", ".join(calls[:_NAMED]) + (", ..." if len(calls) > _NAMED else "")
        since_s = min(self._counted.values()) / 1e6
        return [
            Note(
                "info",
                "steps-recognised",
                f"Steps are the calls {named}, which return an observation, a reward and whether the episode is over. They "
                f"are counted from second {since_s:.1f} on. To count something else give --steps-from MODULE:FUNCTION or "
                "--sps-pattern REGEX, or call rlprof.step(n).",
            )
        ]
