"""``rlprof verify``: the gain of a fix of the user's own, measured beside what was promised for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.check_request import CheckRequest, plan_of
from rlprof.cli.explain import complete_finding
from rlprof.cli.formats import TextFormat, in_format
from rlprof.cli.measuring import DEFAULT_TIMEOUT_S, measuring, tell
from rlprof.cli.output import LATEST, say, show, write_output
from rlprof.cli.target import Interpreter, Prepare, SpsPattern, StepsFrom, target_of
from rlprof.errors import EXIT_OK, OutputError, RunFileError, UsageError, exit_code_of_signal

if TYPE_CHECKING:
    from rlprof.gate.check import CheckPlan
    from rlprof.gate.worktrees.worktree import Repository
    from rlprof.model.recording import Note
    from rlprof.verification.verified import Promise, VerifiedFix


def verify(
    ctx: typer.Context,
    base: Annotated[
        str,
        typer.Option(metavar="REV", help="Commit without the fix; it runs in a worktree."),
    ] = "HEAD",
    run: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Run file that promised the gain, or its label. Without it: the latest of this script that was "
            "recorded at REV or before.",
        ),
    ] = None,
    finding: Annotated[
        str | None,
        typer.Option(
            metavar="ID|RANK",
            help="Finding that was fixed, by its id or its rank. Without it: the first.",
            autocompletion=complete_finding,
        ),
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=5, metavar="N", help="Pairs of runs; an interval takes 5.")
    ] = 5,
    interleave: Annotated[
        bool,
        typer.Option(
            "--interleave",
            help="Run both of a pair at once, in turns of 50 ms: less noise on a busy machine. Not on a GPU.",
        ),
    ] = False,
    format_: Annotated[
        TextFormat, typer.Option("--format", "-f", help="Of the result, which goes to stdout.")
    ] = TextFormat.TERMINAL,
    timeout: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="For each run, and for --prepare."),
    ] = DEFAULT_TIMEOUT_S,
    prepare: Prepare = None,
    python: Interpreter = None,
    sps_pattern: SpsPattern = None,
    steps_from: StepsFrom = None,
) -> None:
    """Measure what your fix gained, beside what was promised.

    The fix is in the working tree, and a run that was recorded before promised a share of the time for it. Base and
    head run in turn, in fresh processes, as in `rlprof check`; the gain is told with its interval, and whether the
    promise held. It is kept beside the run: `rlprof history` shows it, `rlprof history --calibration` how well
    promises hold here. Ends with 0 whatever it came to, 2 bad usage, 4 could not measure.
    """
    target = target_of(
        ctx, "end the line with what to run, for example rlprof verify train.py --steps 20000"
    )
    # What counters say is no matter of a gain.
    from rlprof.model.counters import COST_COUNTERS

    request = CheckRequest(
        target=target,
        base=base,
        interleave=interleave,
        pairs=pairs,
        max_pairs=pairs,
        counters=tuple(f"{name}=off" for name in COST_COUNTERS),
        timeout_s=timeout,
        prepare=prepare,
        python=python,
        sps_pattern=sps_pattern,
        steps_from=steps_from,
    )
    raise typer.Exit(measuring(lambda: _verify(request, run, finding, format_)))


def _verify(
    request: CheckRequest, run: str | None, finding: str | None, format_: TextFormat
) -> int:
    from rlprof.gate.check import run_check
    from rlprof.gate.gain import check_has_change, verified_fix
    from rlprof.gate.interruption import Interrupted
    from rlprof.gate.worktrees.check_folder import check_folder
    from rlprof.report import wording
    from rlprof.verification import words

    assert request.base is not None, "it has a default"
    plan, base = plan_of(request)
    assert base is not None, "a commit was given"
    repository = _repository(plan.head.folder, request.base)
    check_has_change(repository, request.base)
    promise, notes = _promise(plan, repository, run, finding)
    promised = wording.unglued(wording.share_range(promise.share))
    tell(f"{words.run_of(promise)} promised {promised} for {words.finding(promise)}")
    with check_folder() as folder:
        outcome = run_check(plan, base, folder, tell)
        if outcome.stopped_by is not None and outcome.failure is not None:
            raise Interrupted(outcome.stopped_by)
        fix = verified_fix(
            outcome,
            promise,
            script=plan.head.script,
            in_turns=request.interleave,
            notes=notes,
        )
        _keep(fix)
        _show(fix, format_)
    return EXIT_OK if outcome.stopped_by is None else exit_code_of_signal(outcome.stopped_by)


def _repository(folder: Path, base: str) -> Repository:
    from rlprof.gate.worktrees.worktree import find_repository

    try:
        return find_repository(folder, base)
    except UsageError as error:
        if error.slug != "not-a-repository":
            raise
        raise UsageError(
            error.message,
            slug=error.slug,
            hint="base is a commit: put the program under git, and commit it before the next fix; any two programs are "
            "compared by `rlprof check --base-command`",
        ) from error


def _promise(
    plan: CheckPlan, repository: Repository, run: str | None, finding: str | None
) -> tuple[Promise, tuple[Note, ...]]:
    """Raises ``UsageError`` where there is no such run, or it has no such finding."""
    from rlprof.cli.loading import read_recording
    from rlprof.cli.run_files import run_file_named
    from rlprof.gate.gain import notes_on_named_run, promising_run
    from rlprof.verification.verified import promise_of

    notes: tuple[Note, ...] = ()
    if run is None:
        path, notes = promising_run(LATEST.parent, plan.head.script, repository)
    else:
        path = run_file_named(run)
    try:
        recording = read_recording(path)
    except RunFileError as error:
        # Nothing has run: it is the command line that names what cannot be read.
        raise error.converted_to(UsageError) from error
    if run is not None:
        notes = notes_on_named_run(recording.run, path, plan.head.script, repository)
    return promise_of(recording, str(path), finding), notes


def _keep(fix: VerifiedFix) -> None:
    """Write it beside the run that promised it. What cannot be kept is shown all the same."""
    from rlprof.cli.run_files import free_name
    from rlprof.verification.json_document import ENDING, verification_as_json

    folder = Path(fix.promise.run_file).parent
    try:
        path = free_name(folder, fix.script, ENDING)
        write_output(path, verification_as_json(fix), force=False, is_private=True)
    except (OutputError, UsageError, OSError) as error:
        why = error.message if isinstance(error, OutputError | UsageError) else str(error)
        say(f"rlprof: not kept for `rlprof history`: {why}")
    else:
        tell(f"kept in {path}, for `rlprof history`")


def _show(fix: VerifiedFix, format_: TextFormat) -> None:
    from rlprof.verification.document import verified_document
    from rlprof.verification.json_document import verification_as_json

    show(
        in_format(
            format_,
            lambda: verification_as_json(fix),
            lambda: verified_document(fix),
            breaks_log=False,
        )
    )
