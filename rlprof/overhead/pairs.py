"""Run a program with rlprof and without, in pairs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rlprof.errors import MeasureError, RunFileError, exit_code_of_returncode
from rlprof.gate.measured_run import MeasuredRun
from rlprof.gate.processes import ProcessSession, last_lines
from rlprof.gate.program import Counting, Program, Side
from rlprof.gate.runner import Runner, timed_out
from rlprof.model.recording import Recording
from rlprof.overhead.cost import Basis, RunPair, own_cpu
from rlprof.overhead.document import pair_in_words
from rlprof.runfile.reader import read_run
from rlprof.units import duration

_RATELESS: Final = frozenset({"no-steps", "no-steady-rate", "counters-unseen", "different-units"})
"""Errors of a run that ended well and had no rate to compare."""


@dataclass(slots=True)
class PairsOfRuns:
    """Pairs of runs, every other one in reverse order, so that a machine that drifts slows both alike.

    What they leave on disk lies in ``folder``.
    """

    program: Program
    counting: Counting
    """Where steps come from, if the program is not to be asked."""
    folder: Path
    timeout_s: float
    """Time limit of one run."""
    basis: Basis
    tell: Callable[[str], None]
    """Takes a line on how far it has come."""
    why_wall: str = ""
    """Why whole runs are timed, though steps were wanted."""
    done: list[RunPair] = field(default_factory=list)

    def run(self, count: int) -> None:
        """Raises :class:`MeasureError`; ``done`` has what was measured before that."""
        started = time.monotonic()
        for number in range(1, count + 1):
            left = ""
            if self.done:
                per_pair_s = (time.monotonic() - started) / len(self.done)
                left = f" (about {duration(1e6 * per_pair_s * (count - len(self.done)))} left)"
            self.tell(f"pair {number} of {count}{left}")
            pair = self._pair(number)
            self.done.append(pair)
            self.tell(f"  {pair_in_words(pair)}")

    def _pair(self, number: int) -> RunPair:
        if self.basis is Basis.WALL:
            return self._timed_pair(number)
        try:
            return self._counted_pair(number)
        except MeasureError as lack:
            if number > 1 or lack.slug not in _RATELESS:
                raise
            self.why_wall = lack.message
            self.tell(f"  {lack.message}: whole runs are timed instead")
        self.basis = Basis.WALL
        return self._timed_pair(number)

    def _counted_pair(self, number: int) -> RunPair:
        runner = Runner(
            self._place(),
            timeout_s=self.timeout_s,
            counting=replace(self.counting, steps_alone=True),
        )
        runs = {
            side: runner.measure(self._on(side), number, is_full=side is Side.HEAD)
            for side in (Side if number % 2 else reversed(Side))
        }
        bare, recorded = runs[Side.BASE], runs[Side.HEAD]
        if (bare.unit, bare.source) != (recorded.unit, recorded.source):
            raise MeasureError(
                f"{bare.source} counted the {bare.unit} of the run without rlprof, {recorded.source} the "
                f"{recorded.unit} of the one with it",
                slug="different-units",
                hint="count the same thing in both with --steps-from MODULE:FUNCTION or --sps-pattern",
            )
        return RunPair(
            bare=self._rate(bare),
            recorded=self._rate(recorded),
            basis=Basis.STEPS,
            own=own_cpu(_read(recorded.run_file)),
            unit=bare.unit,
            source=bare.source,
        )

    def _rate(self, run: MeasuredRun) -> float:
        program = self._on(run.side)
        if run.sps is None:
            raise MeasureError(
                f"{program.run_name(run.pair)} never came to a steady rate",
                slug="no-steady-rate",
                hint="let it train for longer, or time whole runs with --wall",
            )
        return run.sps.median

    def _timed_pair(self, number: int) -> RunPair:
        place = self._place()
        if number % 2:
            bare_s = self._bare_s(number, place)
            recording = self._recording(number, place)
        else:
            recording = self._recording(number, place)
            bare_s = self._bare_s(number, place)
        return RunPair(
            bare=bare_s,
            recorded=recording.run.wall_us / 1e6,
            basis=Basis.WALL,
            own=own_cpu(recording),
            unit="s",
        )

    def _bare_s(self, number: int, place: Path) -> float:
        log = place / f"bare-{number}.log"
        program = self._on(Side.BASE)
        return seconds_of(program, number, log, timeout_s=self.timeout_s)

    def _recording(self, number: int, place: Path) -> Recording:
        runner = Runner(place, timeout_s=self.timeout_s, counting=self.counting)
        return _read(runner.record(self._on(Side.HEAD), number))

    def _on(self, side: Side) -> Program:
        """The program without rlprof on the side of base, with it on that of head."""
        how = "without" if side is Side.BASE else "with"
        return replace(self.program, side=side, name=f"{self.program.script} {how} rlprof")

    def _place(self) -> Path:
        """Files of the other basis have the same names."""
        place = self.folder / self.basis.value
        place.mkdir(exist_ok=True)
        return place


def _read(run_file: Path) -> Recording:
    try:
        return read_run(run_file)
    except RunFileError as error:
        raise error.converted_to(MeasureError) from error


# --- a run with nothing of rlprof in it or beside it ----------------------------------------


def seconds_of(program: Program, number: int, log: Path, *, timeout_s: float) -> float:
    """Run ``program`` to its end. Raises :class:`MeasureError` when it cannot be started, fails or takes too long."""
    name = program.run_name(number)
    session = ProcessSession(
        program.command,
        # As runs with rlprof have it: the order of a set changes how fast a program is.
        environment={"PYTHONHASHSEED": str(number), **program.environment},
        folder=program.folder,
        log=log,
    )
    started = time.monotonic()
    try:
        with session:
            code = session.wait(timeout_s)
            taken_s = time.monotonic() - started
    except OSError as error:
        raise MeasureError(
            f"cannot start {program.command[0]}: {error.strerror or error}",
            slug="target-not-started",
            hint=f"check that {os.fspath(program.command[0])} exists and can be executed",
        ) from error
    if code is None:
        raise timed_out(name, log, timeout_s)
    if code:
        printed = program.without_secrets(last_lines(log))
        raise MeasureError(
            f"{name} failed with exit code {exit_code_of_returncode(code)}\n{printed}",
            slug="program-failed",
            hint="run it by itself to see why",
        )
    return taken_s
