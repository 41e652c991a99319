"""``rlprof fix``: the change of your source that a finding asks for, as a diff."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.explain import complete_finding
from rlprof.cli.output import hand_out, run_path, say, write_output
from rlprof.errors import OutputError, UsageError
from rlprof.inputs import read_input

if TYPE_CHECKING:
    from rlprof.fixes.base import Fix
    from rlprof.fixes.proposal import ChangedFile, Proposal
    from rlprof.model.finding import PricedFinding


def fix(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN] [ID|RANK]",
            help="Id of a finding, as the report names it, or its number in the report; before it a run file, "
            "else .rlprof/latest is taken. Without a finding, those that have a fix are listed.",
            autocompletion=complete_finding,
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the change as a unified diff. The default.")
    ] = False,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Write the change into your files: only where git has them as they are now.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --apply, write whatever git has of the files.")
    ] = False,
) -> None:
    """Show the change of your source that a finding asks for.

    Prints a diff against your files as they are now, in which comments and layout stay, and changes nothing. With
    --apply the change is written, if git has the files as they are: `git diff` shows it then, `git checkout FILE` takes
    it back. Where a change cannot be made exactly, or the lines are no longer what was recorded, it says why.
    """
    if diff and apply:
        raise UsageError(
            "--diff prints the change, and --apply writes it",
            slug="two-ways-to-fix",
            hint="give one of them",
        )
    from rlprof.cli.loading import read_recording
    from rlprof.fixes.discovered import fixes
    from rlprof.fixes.proposal import propose
    from rlprof.report.findings import look_into

    run, wanted = _split(words or [])
    known = fixes()
    recording = read_recording(run_path(run))
    found = look_into(recording)
    listed = found.priced.listed
    if wanted is None:
        _list(listed, known)
        return
    priced = _chosen(wanted, (*listed, *found.priced.also_seen), known)
    proposal = propose(priced.finding, found.profile, recording.run, known)
    if apply:
        _apply(proposal, force=force)
    else:
        paths = [each.path.resolve() for each in proposal.files]
        base = _base(paths)
        patch = b"".join(
            each.diff(str(path.relative_to(base)))
            for each, path in zip(proposal.files, paths, strict=True)
        )
        is_read = sys.stdout is not None and sys.stdout.isatty()
        hand_out(patch.decode(errors="replace") if is_read else patch, None, force=False)
        if base != Path.cwd().resolve():
            say(f"rlprof: its paths begin in {base}: apply it there")
    _tell(proposal, is_applied=apply)


def _split(words: Sequence[str]) -> tuple[Path | None, str | None]:
    """The run file and the finding that are asked for."""
    match words:
        case []:
            return None, None
        case [run, finding]:
            return Path(run), finding
        case [word]:
            # A file is never named like a finding: those have no endings.
            return (Path(word), None) if "." in word or os.sep in word else (None, word)
    raise UsageError(
        f"rlprof fix takes a run file and a finding, not {len(words)} words",
        slug="too-many-words",
        hint="for example rlprof fix eager-log-format, or rlprof fix runs/baseline.rlprof 2",
    )


def _list(listed: Iterable[PricedFinding], known: Iterable[Fix]) -> None:
    does = _does(known)
    shown = [priced for priced in listed if priced.finding.detector in does]
    if not shown:
        typer.echo("none of the findings of this run has a change of the source that rlprof makes")
    for priced in shown:
        typer.echo(f"{priced.rank}. {priced.finding.detector}: {priced.finding.title}")
        typer.echo(f"   {does[priced.finding.detector]}")


def _does(known: Iterable[Fix]) -> dict[str, str]:
    return {finding: each.does for each in known for finding in each.findings}


def _chosen(wanted: str, findings: Sequence[PricedFinding], known: Iterable[Fix]) -> PricedFinding:
    for priced in findings:
        if wanted in (priced.finding.detector, str(priced.rank)):
            return priced
    with_fix = [each for each in findings if each.finding.detector in _does(known)]
    there = ", ".join(f"{each.rank} {each.finding.detector}" for each in with_fix) or "none"
    raise UsageError(
        f"there is no finding {wanted} in this run",
        slug="not-in-this-run",
        hint=f"its findings with a fix are: {there}",
    )


def _apply(proposal: Proposal, *, force: bool) -> None:
    from rlprof.recording.machine.host import unsafe_to_change

    for each in () if force else proposal.files:
        if why := unsafe_to_change(each.path):
            raise UsageError(
                f"{each.path} {why}",
                slug="fix-not-clean",
                hint="commit it or lift what protects it first, so that the change can be taken back, or give --force; "
                "without --apply the change is shown",
            )
    for each in proposal.files:
        _check_still_there(each)
        write_output(each.path, each.content, force=True)


def _check_still_there(file: ChangedFile) -> None:
    try:
        is_there = read_input(file.path, len(file.content_before)) == file.content_before
    except OSError:
        is_there = False
    if not is_there:
        raise OutputError(
            f"{file.path} was changed meanwhile",
            slug="fix-source-changed",
            hint="try again",
        )


def _tell(proposal: Proposal, *, is_applied: bool) -> None:
    for each in proposal.files if is_applied else ():
        say(f"rlprof: changed {_shown(each.path)}: it now {proposal.fix.does}")
    for place in proposal.left:
        say(f"rlprof: left as it is: {place}")
    if proposal.fix.remark:
        say(f"rlprof: {proposal.fix.remark}")


def _base(paths: Sequence[Path]) -> Path:
    """The folder from which on a patch names files: the working directory, or where one is not below it the folder of all."""
    here = Path.cwd().resolve()
    if all(path.is_relative_to(here) for path in paths):
        return here
    return Path(os.path.commonpath([path.parent for path in paths]))


def _shown(path: Path) -> str:
    """The path from the working directory on, where it is below that."""
    return (
        os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd().resolve()) else str(path)
    )
