"""``rlprof check``: fail when a training became slower, and only then."""

from __future__ import annotations

import os
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

import rlprof
from rlprof.cli.check_request import (
    CheckRequest,
    Outputs,
    base_words,
    misplaced,
    refuse_what_cannot_be_meant,
    settings_of,
)
from rlprof.cli.command import command_of, script_name
from rlprof.cli.output import Force, say
from rlprof.cli.step_sources import counted_function, pattern_of
from rlprof.cli.target import Interpreter, SpsPattern, StepsFrom, TargetKind, target_of
from rlprof.errors import (
    EXIT_NOT_MEASURED,
    EXIT_OK,
    EXIT_USAGE,
    LaunchError,
    MeasureError,
    RlprofError,
    UsageError,
)
from rlprof.gate.inconclusive import OnInconclusive

if TYPE_CHECKING:
    from rlprof.gate.causes import Causes
    from rlprof.gate.check_settings import CheckSettings
    from rlprof.gate.outcome import Outcome
    from rlprof.gate.program import Program
    from rlprof.gate.running.runner import Runner

DEFAULT_TIMEOUT_S: Final = 1800.0
"""Of one run. What hangs must not hold a runner for the six hours that services allow."""


class _Found(NamedTuple):
    outcome: Outcome
    causes: Causes | None = None
    """Where they were asked for and found; their run files are there until the check's folder goes."""


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
        Path | None, typer.Option(metavar="FILE", help="Only run, and save what it came to.")
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
    prepare: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Shell command that builds the base in its worktree."),
    ] = None,
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
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as Markdown.")] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also as JSON.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Also as SARIF.")] = None,
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
        target=target_of(ctx),
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
        outputs=Outputs(markdown, json_, junit, sarif),
        python=python,
        sps_pattern=sps_pattern,
        steps_from=steps_from,
        force=force,
    )
    raise typer.Exit(_checked(request))


def _checked(request: CheckRequest) -> int:
    """The exit code. No error of ours ends in that of a regression."""
    from rlprof.gate.processes.interruption import Interrupted, interruptible
    from rlprof.gate.processes.process_session import adopting_orphans

    try:
        with interruptible(), adopting_orphans():
            return _check(request)
    except Interrupted as stop:
        say(
            "rlprof: stopped; nothing that it started is left running\n"
            "  more: rlprof explain check-stopped"
        )
        return 128 + stop.signum
    except RlprofError as error:
        if error.exit_code in (EXIT_USAGE, EXIT_NOT_MEASURED):
            raise
        raise MeasureError(error.message, slug=error.slug, hint=error.hint) from error
    except OSError as error:
        raise MeasureError(
            f"the system refused what the check needs: {error}",
            slug="check-refused",
            hint="is the disk full, or is the working directory gone?",
        ) from error
    except Exception as bug:
        lines = "".join(traceback.format_exception(bug)).rstrip()
        raise MeasureError(
            f"a bug in rlprof {rlprof.__version__} ended the check:\n{lines}",
            slug="check-bug",
            hint="please report it, with the lines above",
        ) from bug


def _check(request: CheckRequest) -> int:
    from rlprof.cli.check_results import hand_out, write_artifacts
    from rlprof.gate.worktrees.check_folder import check_folder

    refuse_what_cannot_be_meant(request)
    settings = settings_of(request)
    lost = misplaced(request.target.words)
    if lost:
        _tell(lost)
    head = _head(request)
    with check_folder() as folder:
        runner = _runner(request, folder, settings)
        if request.save_baseline is not None:
            from rlprof.cli.check_baseline import save_baseline

            save_baseline(request, request.save_baseline, head, runner, settings, _tell)
            return EXIT_OK
        found = _outcome(request, head, runner, settings, folder)
        try:
            return hand_out(found.outcome, request)
        finally:
            if found.causes is not None:
                write_artifacts(request, found.causes)


def _head(request: CheckRequest) -> Program:
    from rlprof.gate.program import Program, Side
    from rlprof.recording.git_environment import without_repository

    folder = Path.cwd()
    try:
        command = command_of(request.target, request.python)
    except LaunchError as error:
        # Nothing has been tried: it is the command line that names what is not there.
        raise UsageError(error.message, slug=error.slug, hint=error.hint) from error
    return Program(
        side=Side.HEAD,
        command=command,
        script=script_name(request.target),
        folder=folder,
        environment=without_repository(os.environ),
        name=folder.name,
        is_alone=request.base is None and request.base_command is None,
    )


def _runner(request: CheckRequest, folder: Path, settings: CheckSettings) -> Runner:
    from rlprof.gate.program import Counting
    from rlprof.gate.running.runner import Runner

    if request.sps_pattern is not None:
        pattern_of(request.sps_pattern)
    if request.steps_from is not None:
        counted_function(request.steps_from, agent=True)
    return Runner(
        folder,
        timeout_s=request.timeout_s,
        counting=Counting(request.sps_pattern, request.steps_from, settings.asked),
        needs_rate=not request.counters_only,
    )


def _outcome(
    request: CheckRequest, head: Program, runner: Runner, settings: CheckSettings, folder: Path
) -> _Found:
    from rlprof.gate.check_progress import outcome_without_runs
    from rlprof.gate.processes.interruption import Interrupted

    try:
        if request.baseline is not None:
            from rlprof.cli.check_baseline import compare_with_baseline

            return _Found(
                compare_with_baseline(request, request.baseline, head, runner, settings, _tell)
            )
        if request.base is None:
            sides = _two_commands(request, head)
            return _compared(request, *sides, runner, settings)
        return _against_commit(request, request.base, head, runner, settings, folder)
    except (MeasureError, Interrupted) as why:
        # Nothing ran: who reads a file must learn that too.
        return _Found(outcome_without_runs(why, _base_name(request), head, settings))


def _base_name(request: CheckRequest) -> str:
    from rlprof.gate.program import as_typed

    if request.base_command is not None:
        return as_typed(base_words(request.base_command))
    return request.base or str(request.baseline)


def _against_commit(
    request: CheckRequest,
    ref: str,
    head: Program,
    runner: Runner,
    settings: CheckSettings,
    folder: Path,
) -> _Found:
    from rlprof.gate.processes.interruption import Interrupted
    from rlprof.gate.worktrees.sides import Preparing, in_worktree

    is_script = request.target.kind is TargetKind.SCRIPT
    found: _Found | None = None
    try:
        with in_worktree(
            head,
            ref,
            folder,
            preparing=Preparing(request.prepare, folder / "prepare.log", request.timeout_s),
            script=request.target.words[0] if is_script else None,
            tell=_tell,
        ) as sides:
            found = _compared(request, sides.base, sides.head, runner, settings)
            notes = (*sides.notes, *found.outcome.notes)
            found = found._replace(outcome=replace(found.outcome, notes=notes))
    except Interrupted as stop:
        # While the worktree is removed: what was found stands.
        if found is None:
            raise
        return found._replace(outcome=replace(found.outcome, stopped_by=stop.signum))
    return found


def _two_commands(request: CheckRequest, head: Program) -> tuple[Program, Program]:
    from rlprof.gate.program import Side, as_typed

    command = base_words(request.base_command or "")
    base = replace(
        head,
        side=Side.BASE,
        command=command,
        script=Path(command[0]).name,
        name=as_typed(command),
    )
    return base, replace(head, name=as_typed(request.target.words))


def _compared(
    request: CheckRequest, base: Program, head: Program, runner: Runner, settings: CheckSettings
) -> _Found:
    from rlprof.gate.causes import look_for_causes
    from rlprof.gate.outcome import Verdict
    from rlprof.gate.pair_check import check_pairs
    from rlprof.gate.processes.interruption import Interrupted
    from rlprof.gate.words import first_line
    from rlprof.model.recording import Note

    outcome = check_pairs(base, head, runner, settings, _tell)
    if not request.profile or outcome.verdict not in (Verdict.REGRESSION, Verdict.INCONCLUSIVE):
        return _Found(outcome)
    _tell("a last pair, recorded in full")
    try:
        causes = look_for_causes(base, head, runner, outcome)
    except (Exception, Interrupted) as error:
        # The verdict stands without them, be it a failed run, a bug of ours or a signal.
        stopped_by = error.signum if isinstance(error, Interrupted) else None
        why = (
            "it was told to stop" if stopped_by else first_line(str(error)) or type(error).__name__
        )
        note = Note("warning", "no-causes", f"The causes are not known: {why}.")
        notes = (*outcome.notes, note)
        return _Found(replace(outcome, notes=notes, stopped_by=stopped_by))
    return _Found(replace(outcome, comparison=causes.comparison), causes)


def _tell(text: str) -> None:
    say(f"rlprof: {text}")
