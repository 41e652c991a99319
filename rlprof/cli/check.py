"""``rlprof check``: fail when a training became slower, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlprof.cli.check_request import (
    CheckRequest,
    OnInconclusive,
    check_options,
    plan_of,
)
from rlprof.cli.measuring import DEFAULT_TIMEOUT_S, measuring, tell
from rlprof.cli.output import Force, dash_as_stdout
from rlprof.cli.target import Interpreter, Prepare, SpsPattern, StepsFrom, target_of
from rlprof.errors import EXIT_OK


def check(
    ctx: typer.Context,
    base: Annotated[
        str | None,
        typer.Option(metavar="REF", help="Commit to compare with; it runs in a worktree."),
    ] = None,
    base_command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Compare with this command instead, started here."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with what was saved in FILE.")
    ] = None,
    save_baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=dash_as_stdout,
            help="Only run, and save what it came to.",
        ),
    ] = None,
    relax_machine: Annotated[
        bool, typer.Option("--relax-machine", help="Accept a baseline of another machine.")
    ] = False,
    interleave: Annotated[
        bool,
        typer.Option(
            "--interleave",
            help="Run both of a pair at once, in turns of 50 ms: on a noisy machine it sees far smaller "
            "slowdowns. Not on a GPU.",
        ),
    ] = False,
    pairs: Annotated[
        int | None, typer.Option(metavar="N", help="Pairs of runs at first (5 or more).")
    ] = None,
    max_pairs: Annotated[
        int | None, typer.Option(metavar="N", help="Pairs at most; as many again to confirm.")
    ] = None,
    min_effect: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Smallest slowdown that fails. Default: 5%, or twice the noise if that is more.",
        ),
    ] = None,
    counter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TOLERANCE",
            help="How much a counter may grow: gpu_syncs=0, h2d_bytes=5%, ipc_bytes=off. Repeatable. "
            "`rlprof explain counters` lists them.",
        ),
    ] = None,
    counters_only: Annotated[
        bool,
        typer.Option(
            "--counters-only",
            help="Compare counters alone: two short runs a side, or one that fails.",
        ),
    ] = False,
    on_inconclusive: Annotated[
        OnInconclusive | None,
        typer.Option(help="What to make of runs that vary too much to tell. Default: exit 3."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="For each run, and for --prepare. Both runs of a pair in turns have twice as long.",
        ),
    ] = DEFAULT_TIMEOUT_S,
    prepare: Prepare = None,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile",
            help="If it fails or is inconclusive: record a last pair in full, and say what got worse.",
        ),
    ] = False,
    artifacts: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --profile: page, flamegraph and run files go here."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=dash_as_stdout, help="Also as Markdown."),
    ] = None,
    json_: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            callback=dash_as_stdout,
            help="Also as JSON; - is the standard output, and the result then goes to stderr.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=dash_as_stdout, help="Also as JUnit XML."),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=dash_as_stdout, help="Also as SARIF."),
    ] = None,
    python: Interpreter = None,
    sps_pattern: SpsPattern = None,
    steps_from: StepsFrom = None,
    force: Force = False,
) -> None:
    """Check that a training did not become slower.

    Runs base and head in turn, in fresh processes on this machine, until the difference is clear. Ends with
    0 pass, 1 regression, 2 bad usage, 3 inconclusive, 4 could not measure. The result goes to stdout,
    the training's own output is shown only where it fails.
    """
    request = CheckRequest(
        target=target_of(
            ctx,
            "end the line with what to run, for example "
            "rlprof check --base origin/main train.py --steps 20000",
        ),
        base=base,
        base_command=base_command,
        baseline=baseline,
        save_baseline=save_baseline,
        relax_machine=relax_machine,
        interleave=interleave,
        pairs=pairs,
        max_pairs=max_pairs,
        min_effect=min_effect,
        counters=tuple(counter or ()),
        counters_only=counters_only,
        on_inconclusive=on_inconclusive,
        timeout_s=timeout,
        prepare=prepare,
        profile=profile,
        artifacts=artifacts,
        outputs={
            "--markdown": markdown,
            "--json": json_,
            "--junit": junit,
            "--sarif": sarif,
        },
        python=python,
        sps_pattern=sps_pattern,
        steps_from=steps_from,
        force=force,
    )
    raise typer.Exit(measuring(lambda: _check(request)))


def _check(request: CheckRequest) -> int:
    from rlprof.cli.check_results import hand_out, write_artifacts, write_baseline
    from rlprof.gate.check import new_baseline, run_check
    from rlprof.gate.worktrees.check_folder import check_folder

    check_options(request)
    plan, base = plan_of(request)
    with check_folder() as folder:
        if base is None:
            write_baseline(new_baseline(plan, request.pairs, folder, tell), request)
            return EXIT_OK
        outcome = run_check(plan, base, folder, tell)
        try:
            return hand_out(outcome, request)
        finally:
            write_artifacts(outcome, request)
