"""Run a program under rlprof, and switch one part of rlprof off at a time, in turns of a moment: ``benchmarks/switched_parts.py`` starts it.

What it counts are the steps of the program's stopwatch, or those of its optimizer where it has none.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import rlprof_agent  # type: ignore[import-not-found]  # rlprof puts it there.
from rlprof_agent import turns as agent_turns  # type: ignore[import-not-found]  # rlprof puts it there
from rlprof_agent.counted import call_marks  # type: ignore[import-not-found]  # as above
from rlprof_agent.counted.read_turns import ReadTurns  # type: ignore[import-not-found]

from benchmarks.programs import stopwatch

_SETTLES = 0.5
"""Of a turn's length, left out before it is measured: what was switched on again catches up then."""


class Part:
    """A part of rlprof that can be switched off for a moment. This one is none: its figure is what noise alone comes to."""

    def off(self) -> None:
        pass

    def on(self) -> None:
        pass


class StackProbe(Part):
    def __init__(self) -> None:
        self._probe = rlprof_agent.current_agent().probe

    def off(self) -> None:
        self._probe.hush()

    def on(self) -> None:
        self._probe.put_off()


class Steps(Part):
    """Marks in the code of counted functions."""

    def __init__(self) -> None:
        self._taken: list[tuple[Any, Any]] = []

    def off(self) -> None:
        for mark in call_marks._called:
            for function in [each() for each in mark._functions]:
                if function is not None:
                    mark.take(function)
                    self._taken.append((mark, function))

    def on(self) -> None:
        for mark, function in self._taken:
            mark.give(function)
        self._taken.clear()


class Reads(Part):
    """Reads of tensors, which are counted in a part of the time."""

    def __init__(self) -> None:
        self._ways: list[tuple[Any, Any]] = []

    def off(self) -> None:
        for each in [each for each in agent_turns._all if isinstance(each, ReadTurns)]:
            self._ways.append((each, each._are_counted))
            each.stop()
            agent_turns._all.remove(each)

    def on(self) -> None:
        """Go on as before: to begin anew would count all, and cost more than counting does."""
        for each, way in self._ways:
            each._count(*way)
            each._is_whole = not way[0]
            agent_turns._all.append(each)
        self._ways.clear()


class Optimizers(Part):
    """What is noted at each step of an optimizer."""

    def __init__(self) -> None:
        self._hooks: list[tuple[dict[Any, Any], Any]] = []

    def off(self) -> None:
        optimizers: Any = sys.modules.get("torch.optim.optimizer")
        for hooks in (
            getattr(optimizers, "_global_optimizer_pre_hooks", {}),
            getattr(optimizers, "_global_optimizer_post_hooks", {}),
        ):
            if "rlprof" in hooks:
                self._hooks.append((hooks, hooks["rlprof"]))
                hooks["rlprof"] = _nothing

    def on(self) -> None:
        for hooks, hook in self._hooks:
            hooks["rlprof"] = hook
        self._hooks.clear()


class Beside(Part):
    """The recorder and the samplers: processes that are stopped for the moment."""

    def __init__(self) -> None:
        self._recorder = psutil.Process(os.getppid())

    def off(self) -> None:
        self._send(signal.SIGSTOP)

    def on(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: int) -> None:
        samplers = [each for each in self._recorder.children() if "austin" in each.name()]
        for process in (*samplers, self._recorder):
            process.send_signal(number)


class Inside(Part):
    """All of the agent at once."""

    def __init__(self) -> None:
        self._parts = (Steps(), Reads(), Optimizers(), StackProbe())

    def off(self) -> None:
        for part in self._parts:
            part.off()

    def on(self) -> None:
        for part in reversed(self._parts):
            part.on()


PARTS: dict[str, Callable[[], Part]] = {
    "nothing": Part,
    "inside": Inside,
    "probe": StackProbe,
    "steps": Steps,
    "reads": Reads,
    "optimizers": Optimizers,
    "beside": Beside,
}


class Turns:
    """Each part is off for a moment, and between any two all are on."""

    def __init__(self, names: Sequence[str], begin_s: float, turn_s: float) -> None:
        self.told: list[dict[str, object]] = []
        """``off`` is None where all was on; ``units`` were done in ``wall_s``, for ``cpu_s`` of the main thread."""
        self._parts = {name: PARTS[name]() for name in names}
        self._order = [off for name in names for off in (None, name)]
        self._turn_s = turn_s
        self._units = 0
        self._settled = time.perf_counter() + begin_s
        """When this turn is to be measured from."""
        self._begun: tuple[float, float] | None = None
        """Wall and CPU time at which it was; None before."""

    def count(self, units: int = 1) -> None:
        self._units += units
        now = time.perf_counter()
        if self._begun is None:
            if now >= self._settled:
                self._units, self._begun = 0, (now, time.thread_time())
        elif now >= self._begun[0] + self._turn_s:
            self._tell(now - self._begun[0], time.thread_time() - self._begun[1])

    def _tell(self, wall_s: float, cpu_s: float) -> None:
        off, units = self._off, self._units
        if off is not None:
            self._parts[off].on()
        self.told.append({"off": off, "units": units, "wall_s": wall_s, "cpu_s": cpu_s})
        if self._off is not None:
            self._parts[self._off].off()
        self._begun = None
        self._settled = time.perf_counter() + _SETTLES * self._turn_s

    @property
    def _off(self) -> str | None:
        """Name of the part that is off in this turn."""
        return self._order[len(self.told) % len(self._order)]

    def end(self) -> None:
        """Switch all on again."""
        if self._off is not None:
            self._parts[self._off].on()


def _nothing(*_: object) -> None:
    pass


def _count_by(turns: Turns) -> None:
    count = stopwatch.Stopwatch.count

    def counted(watch: stopwatch.Stopwatch, steps: int = 1) -> None:
        count(watch, steps)
        turns.count(steps)

    stopwatch.Stopwatch.count = counted  # type: ignore[method-assign]  # It has no other place to count at.


def _count_steps_of_optimizers(turns: Turns) -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(lambda *_: turns.count())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tell", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, required=True)
    parser.add_argument("--begin", type=float, required=True)
    parser.add_argument("--turn", type=float, required=True)
    parser.add_argument("--optimizer", action="store_true")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    wanted = parser.parse_args()
    turns = Turns(wanted.parts, wanted.begin, wanted.turn)
    (_count_steps_of_optimizers if wanted.optimizer else _count_by)(turns)
    sys.argv = [wanted.program, *wanted.arguments]
    sys.path[0] = str(Path(wanted.program).parent)
    try:
        runpy.run_path(wanted.program, run_name="__main__")
    finally:
        turns.end()
        wanted.tell.write_text(json.dumps(turns.told))


if __name__ == "__main__":
    main()
