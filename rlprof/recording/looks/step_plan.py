"""Tell which calls are to be counted as steps, in a program whose steps nothing else counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from rlprof.libraries.step_sources import STEP_SOURCES
from rlprof.model.counters import STEPS_RECOGNISED
from rlprof.model.recording import Frame, Note
from rlprof.recording.looks.hot_lines import HotLines
from rlprof.recording.mailboxes.look_table import CountTold, to_count
from rlprof.syntax.operands import Operand
from rlprof.syntax.steps import step_calls
from rlprof.syntax.steps_in_lists import StepCall

_ASKED: Final = 3
"""Lines of a function in which its objects are looked for, the hottest: a sample comes to one of them soon."""

_AGAIN: Final = 1.1
"""Times the time of a process after which a function is asked again: it may step objects of another class, too."""
_AGAIN_US: Final = 100_000
"""The same at least, in CPU time."""

_MOST_COUNT: Final = 0.5
"""Part of the processes that step from which on what they count is told as the steps: the others are over too soon."""

_NAMED: Final = 3
"""Calls that the report names."""


class CallPlace(NamedTuple):
    file: str
    function: str
    call: str
    """As Python would write it."""


class StepPlan:
    """Finds calls that step an environment by their source; the agent judges by what they return."""

    def __init__(self, lines: HotLines) -> None:
        self._lines = lines
        self._is_over = False
        self._next_us: dict[tuple[int, str, str], float] = {}
        """The time of a process from which on one of its functions is to be asked again."""
        self._others: set[CallPlace] = set()
        """Calls that return something else."""
        self._counted: dict[tuple[int, CallPlace], int] = {}
        """When the first of a process was counted, in µs of the run."""
        self._asked: set[int] = set()
        """Processes that were asked for such steps, and those that have told of some."""
        self._counting: set[int] = set()

    def heard(self, process: int, told: Iterable[CountTold], now_us: int) -> None:
        for call, frame, makes_steps in told:
            place = CallPlace(frame.file, frame.function, call)
            if makes_steps:
                self._counted.setdefault((process, place), now_us)
            else:
                self._others.add(place)

    def counted(self, process: int, counts: Mapping[str, float]) -> None:
        """Take in what a process has counted in its last window; where that tells its steps, nothing is looked for any more."""
        self._is_over |= any(name in STEP_SOURCES and name != STEPS_RECOGNISED for name in counts)
        if counts.get(STEPS_RECOGNISED):
            self._counting.add(process)
        else:
            # They may be made by objects of another class now.
            for number, place in self._counted:
                if number == process:
                    self._next_us.pop((process, place.file, place.function), None)

    def wanted(
        self, process: int, ways: Iterable[Sequence[Frame]]
    ) -> list[tuple[Frame, Sequence[Operand]]]:
        """Return what to ask a process for; ``ways`` are its stacks, innermost first."""
        if self._is_over or self._lines.is_late:
            return []
        hot: dict[tuple[str, str], set[Frame]] = {}
        for way in ways:
            for frame in filter(self._lines.is_hot, reversed(way)):
                calls = self._calls(frame)
                if any(self._may_be_one(frame, call) for call in calls):
                    hot.setdefault((frame.file, frame.function), set()).add(frame)
                if any(frame.line in call.lines for call in calls):
                    break  # What it steps may step others in turn.
        wanted = []
        for frames in hot.values():
            if self._is_due(process, next(iter(frames))):
                often = sorted(frames, key=lambda frame: (-self._lines.spent_us(frame), frame))
                wanted += [(frame, to_count(self._calls(frame))) for frame in often[:_ASKED]]
        return wanted

    def _may_be_one(self, frame: Frame, call: StepCall) -> bool:
        return CallPlace(frame.file, frame.function, call.text) not in self._others

    def _is_due(self, process: int, frame: Frame) -> bool:
        """Tell whether the function is to be asked; again after as much time."""
        spent_us = self._lines.of_process_us(process)
        key = process, frame.file, frame.function
        if spent_us < self._next_us.get(key, 0.0):
            return False
        self._asked.add(process)
        self._next_us[key] = max(_AGAIN * spent_us, spent_us + _AGAIN_US)
        return True

    def _calls(self, frame: Frame) -> Sequence[StepCall]:
        module = self._lines.module(frame)
        return step_calls(module, frame.line) if module else ()

    def notes(self) -> list[Note]:
        """Return what was counted, and how to count something else."""
        if self._is_over or not self._counted:
            return []
        places = dict.fromkeys(place for _, place in self._counted)
        calls = [
            f"{place.call} in {place.function} ({place.file.rpartition('/')[2]})"
            for place in places
        ]
        named = ", ".join(calls[:_NAMED]) + (", ..." if len(calls) > _NAMED else "")
        since_s = min(self._counted.values()) / 1e6
        if len(self._counting) < _MOST_COUNT * len(self._asked):
            return [
                Note(
                    "info",
                    "steps-not-counted-in-time",
                    f"Steps seem to be the calls {named}, but the processes that make them are over before these can be counted: "
                    "rlprof.step() on the line below counts them.",
                )
            ]
        return [
            Note(
                "info",
                "steps-recognised",
                f"Steps are the calls {named}, which return an observation, a reward and whether the episode is over. They "
                f"are counted from second {since_s:.1f} on. To count something else give --steps-from MODULE:FUNCTION or "
                "--sps-pattern REGEX, or call rlprof.step(n).",
            )
        ]
