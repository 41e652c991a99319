"""``rlprof overhead``: what rlprof itself costs a training, measured."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.command import program_to_measure, script_name
from rlprof.cli.formats import TextOrJson, in_format
from rlprof.cli.measuring import DEFAULT_TIMEOUT_S, measuring, tell
from rlprof.cli.output import show
from rlprof.cli.target import (
    Interpreter,
    SpsPattern,
    StepsFrom,
    counted_function,
    pattern_of,
    target_of,
)
from rlprof.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from rlprof.overhead.pairs import PairsOfRuns


def overhead(
    ctx: typer.Context,
    pairs: Annotated[
        int,
        typer.Option(
            min=1, max=1000, metavar="N", help="Pairs of runs; an interval takes 5 or more."
        ),
    ] = 5,
    wall: Annotated[
        bool,
        typer.Option(
            "--wall",
            help="Time whole runs, for a program that does the same work each time: nothing of rlprof is "
            "then in every other one.",
        ),
    ] = False,
    format_: Annotated[
        TextOrJson, typer.Option("--format", help="Of the result, which goes to stdout.")
    ] = TextOrJson.TERMINAL,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For each run.")
    ] = DEFAULT_TIMEOUT_S,
    python: Interpreter = None,
    sps_pattern: SpsPattern = None,
    steps_from: StepsFrom = None,
) -> None:
    """Measure what rlprof costs a training.

    Runs it without rlprof and under `rlprof run` in turns, in fresh processes, and compares the steps per
    second; where nothing counts steps, the time of whole runs. Give the training arguments that end it after
    half a minute or so. Its output is shown only where it fails. Keep the machine free meanwhile.
    Ends with 0, 2 bad usage, 4 could not measure.
    """
    target = target_of(
        ctx, "end the line with what to run, for example rlprof overhead train.py --steps 20000"
    )
    program = program_to_measure(
        target, python, dict(os.environ), name=script_name(target), is_alone=True
    )
    _check_counting(sps_pattern, steps_from, wall=wall)

    def measure() -> int:
        from rlprof.gate.program import Counting
        from rlprof.gate.worktrees.check_folder import check_folder
        from rlprof.overhead.cost import Basis
        from rlprof.overhead.pairs import PairsOfRuns

        with check_folder() as folder:
            runs = PairsOfRuns(
                program,
                Counting(sps_pattern, steps_from),
                folder,
                timeout,
                basis=Basis.WALL if wall else Basis.STEPS,
                tell=tell,
            )
            try:
                runs.run(pairs)
            finally:
                _tell_cost(runs, format_)
        return EXIT_OK

    raise typer.Exit(measuring(measure))


def _check_counting(pattern: str | None, function: str | None, *, wall: bool) -> None:
    pattern_of(pattern)
    counted_function(function)
    if wall and (pattern is not None or function is not None):
        raise UsageError(
            "--sps-pattern and --steps-from would do nothing here: --wall times whole runs and counts no steps",
            slug="useless-option",
            hint="leave out what does not go with the rest",
        )


def _tell_cost(runs: PairsOfRuns, format_: TextOrJson) -> None:
    """Show the cost by the pairs that there are: those before a failure or a Ctrl-C count, too."""
    from rlprof.overhead.cost import MeasuredOverhead
    from rlprof.overhead.document import cost_document
    from rlprof.overhead.json_document import cost_as_json

    if not runs.done:
        return
    program = runs.program
    cost = MeasuredOverhead(
        program.script, program.redacted_command, tuple(runs.done), why_wall=runs.why_wall
    )
    show(in_format(format_, lambda: cost_as_json(cost), lambda: cost_document(cost)))
