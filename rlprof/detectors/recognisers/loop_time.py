"""The time of Python loops that take tensors, or arrays of numpy, apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from rlprof.detectors.recognisers.line_time import LineTime, lines_time
from rlprof.model.finding import Location
from rlprof.model.profile import Profile
from rlprof.source.lines import Line, UserLines, short_place
from rlprof.source.tensor_loops import TENSORS, TensorKind, TensorLoop, tensor_loops
from rlprof.source.values import Values
from rlprof.units import of_each_step, percent

MIN_SHARE: Final = 0.02
"""Least share of the critical time: twice what a report lists."""


@dataclass(frozen=True, slots=True)
class LoopTime:
    """Time of the steady phase, in the loops of one kind."""

    profile: Profile
    kind: TensorKind
    lines: UserLines
    loops: Mapping[str, Mapping[int, TensorLoop]]
    """By file, and by the lines that do their work."""
    time: LineTime

    @property
    def heaviest(self) -> TensorLoop:
        line = self.time.heaviest
        return self.loops[line.file][line.line]

    @property
    def place(self) -> str:
        """Where the heaviest loop begins, in short."""
        return short_place(Line(self.time.heaviest.file, self.heaviest.line, ""))

    @property
    def locations(self) -> tuple[Location, ...]:
        return self.lines.shown_locations(self.time.weights, self.profile.critical.wall_us)

    @property
    def evidence(self) -> str:
        """Share of the time that it is, and how much in each step."""
        share = percent(self.time.total_us / self.profile.critical.wall_us)
        each = of_each_step(self.time.total_us, self.profile.steady_steps)
        return f"{share} of the steady time is spent in that loop{each}"

    def nodes(self, *, of_numbers: bool) -> frozenset[int]:
        """The nodes of the loops over numbers, or of those over rows."""
        places = {
            file: frozenset(line for line, loop in found.items() if loop.of_numbers is of_numbers)
            for file, found in self.loops.items()
        }
        return lines_time(self.profile.steady, self.lines, places, self.kind.package).nodes


def loop_time(
    profile: Profile, kind: TensorKind, takes: Callable[[TensorLoop], bool]
) -> LoopTime | None:
    """The time of the loops of a kind that ``takes`` accepts; None where it is less than ``MIN_SHARE``."""
    values = Values(profile.values)
    seen = values.tensors if kind is TENSORS else values.arrays
    loops = {
        file: {
            line: loop for line, loop in tensor_loops(text, seen(file), kind).items() if takes(loop)
        }
        for file, text in profile.sources.items()
    }
    lines = UserLines(profile.steady, profile.sources, profile.started_package)
    time = lines_time(profile.steady, lines, loops, kind.package)
    whole = profile.critical.wall_us
    if not whole or time.total_us < MIN_SHARE * whole:
        return None
    return LoopTime(profile, kind, lines, loops, time)
