"""``rlprof flame``: the flamegraph of a recorded run, as one SVG file."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from rlprof.cli.formats import Metric
from rlprof.cli.loading import read_recording
from rlprof.cli.output import (
    Force,
    check_output,
    dash_as_stdout,
    run_path,
    tell_written,
    write_output,
)


class PhaseName(str, Enum):
    """The values of ``model.profile.PhaseKind``, spelled out so that ``--help`` stays quick."""

    start_up = "start-up"
    warm_up = "warm-up"
    steady = "steady"
    hang = "hang"
    shutdown = "shutdown"


def flame(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="Run file. Without one: .rlprof/latest."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            callback=dash_as_stdout,
            help="Where to write the SVG.",
        ),
    ] = Path("flame.svg"),
    process: Annotated[
        str | None,
        typer.Option(metavar="PROCESS", help="Only this pid, role (worker) or part of a command."),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(metavar="THREAD", help="Only this tid or part of a thread's name."),
    ] = None,
    phase: Annotated[
        PhaseName | None,
        typer.Option(help="Only this phase of the run; imports always belong to start-up."),
    ] = None,
    metric: Annotated[
        Metric, typer.Option(help="What widths mean: wall time, or time on a CPU.")
    ] = Metric.WALL,
    force: Force = False,
) -> None:
    """Draw the flamegraph of all processes of a run as one SVG file.

    It opens in any browser, offline: click to zoom, / to search, arrow keys to walk.
    """
    from rlprof.model.flame import FlameSelection
    from rlprof.model.profile import PhaseKind
    from rlprof.renderers.svg import RENDERER
    from rlprof.report.build import build_report

    path = run_path(run)
    check_output(output, force=force, reads=[path])
    selection = FlameSelection(
        metric=metric.value,
        process=process,
        thread=thread,
        phase=PhaseKind(phase.value) if phase else None,
    )
    report = build_report(read_recording(path), selection=selection, run_file=str(path))
    write_output(output, RENDERER.render(report, {}), force=force)
    tell_written(output)
