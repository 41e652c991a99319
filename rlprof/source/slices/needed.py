"""Slices of a program (Weiser 1981) by the names of its variables and attributes: the statements that its acts depend on, and those that
depend on a value.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable

from rlprof.source.slices.model import ANY_ATTRIBUTE, DataFlow, DataPlace, FlowStep


def needed_steps(
    program: DataFlow, is_left_out: Callable[[FlowStep], bool] = lambda _step: False
) -> set[FlowStep]:
    """Return the statements without which the program would act otherwise.

    ``is_left_out`` tells of statements that leave a loop or a function whether what they depend on does not count.
    """
    return _BackwardSlice(program, is_left_out).found()


def dependent_steps(program: DataFlow, places: Iterable[DataPlace]) -> set[FlowStep]:
    """Return the statements that read what ``places`` hold, or something that was made of it."""
    readers: dict[DataPlace, list[FlowStep]] = defaultdict(list)
    for step in program.steps:
        for place in step.reads:
            readers[place].append(step)
    found: set[FlowStep] = set()
    seen: set[DataPlace] = set()
    pending = [*places]
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        pending += program.same.get(place, ())
        for step in readers[place]:
            found.add(step)
            pending += step.writes
    return found


class _BackwardSlice:
    def __init__(self, program: DataFlow, is_left_out: Callable[[FlowStep], bool]) -> None:
        self._program = program
        self._is_left_out = is_left_out
        self._needed: set[FlowStep] = set()
        self._called: set[FlowStep] = set()
        """Those that are needed for what the functions do that they call, whether or not for what these give."""
        self._places: set[DataPlace] = set()
        self._acting: set[str] = set()
        """Functions with a needed statement whose effect outlives them."""
        self._live: set[str] = set()
        self._writers: dict[DataPlace, list[FlowStep]] = defaultdict(list)
        self._callers: dict[str, list[FlowStep]] = defaultdict(list)
        self._leaving: dict[str, list[FlowStep]] = defaultdict(list)
        self._pending: list[tuple[FlowStep, bool]] = []
        for step in program.steps:
            for place in step.writes:
                self._writers[place].append(step)
            for function in step.runs:
                self._callers[function].append(step)
            if step.leaves:
                self._leaving[step.function].append(step)

    def found(self) -> set[FlowStep]:
        for step in self._program.steps:
            if step.acts or step.is_asked_for:
                self._need(step)
        while self._pending:
            self._follow(*self._pending.pop())
        return self._called | self._needed

    def _need(self, step: FlowStep) -> None:
        """``step`` is needed with all that it reads."""
        if step not in self._needed:
            self._needed.add(step)
            self._pending.append((step, True))

    def _need_call(self, step: FlowStep) -> None:
        """``step`` is needed for what a function does that it calls: what that depends on its parameters tell."""
        if step not in self._called and step not in self._needed:
            self._called.add(step)
            self._pending.append((step, False))

    def _follow(self, step: FlowStep, is_whole: bool) -> None:
        for place in step.reads if is_whole else ():
            self._need_place(place)
        self._need_around(step)
        self._make_live(step.function)
        if step.acts or step.lasting & self._places or step.runs & self._acting:
            self._make_acting(step.function)

    def _need_around(self, step: FlowStep) -> None:
        if step.around is not None:
            self._need(step.around)

    def _make_live(self, function: str) -> None:
        """Take in what may leave a function before it comes to a needed statement."""
        if function in self._live:
            return
        self._live.add(function)
        for step in self._leaving[function]:
            if not self._is_left_out(step):
                self._need_around(step)
                if not isinstance(step.node, ast.Return):
                    self._need_call(step)

    def _make_acting(self, function: str) -> None:
        pending = [function]
        while pending:
            function = pending.pop()
            if not function or function in self._acting:
                continue
            self._acting.add(function)
            for caller in self._callers[function]:
                self._need_call(caller)
                pending.append(caller.function)

    def _need_place(self, place: DataPlace) -> None:
        pending = [place]
        while pending:
            place = pending.pop()
            if place in self._places:
                continue
            self._places.add(place)
            pending += self._program.same.get(place, ())
            if place == ANY_ATTRIBUTE:
                pending += [each for each in self._writers if each.name.startswith(".")]
            for step in self._writers.get(place, ()):
                if place in step.lasting:
                    self._make_acting(step.function)
                self._need(step)
