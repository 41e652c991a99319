"""What ``rlprof check`` hands to its user: progress, the result in each format, artefacts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from rlprof.cli.check_request import ARTIFACTS, CheckRequest
from rlprof.cli.output import show, terminal_options, write_output
from rlprof.errors import MeasureError

if TYPE_CHECKING:
    from rlprof.gate.causes import Causes
    from rlprof.gate.outcome import Outcome

_STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


def write_artifacts(request: CheckRequest, causes: Causes) -> None:
    """While the run files are there."""
    if request.artifacts is None:
        return
    page, drawing, *files = (request.artifacts / name for name in ARTIFACTS)
    write_output(page, causes.page(), force=request.force)
    write_output(drawing, causes.drawing(), force=request.force)
    for file, run in zip(files, causes.runs, strict=True):
        write_output(file, run.run_file.read_bytes(), force=request.force)
    tell(f"wrote {', '.join(ARTIFACTS)} to {request.artifacts}")


def hand_out(outcome: Outcome, request: CheckRequest) -> int:
    from rlprof.gate.json_document import outcome_as_json
    from rlprof.gate.junit import outcome_as_junit
    from rlprof.gate.markdown import outcome_as_markdown
    from rlprof.gate.outcome import exit_code
    from rlprof.gate.sarif import outcome_as_sarif
    from rlprof.gate.terminal import outcome_as_text

    lenient = request.on_inconclusive
    look = terminal_options(sys.stdout)
    show(outcome_as_text(outcome, colored=look["color"] == "always"))
    markdown = outcome_as_markdown(outcome)
    files = request.outputs
    for file, document in (
        (files.markdown, markdown),
        (files.json, outcome_as_json(outcome, on_inconclusive=lenient)),
        (files.junit, outcome_as_junit(outcome, on_inconclusive=lenient)),
        (files.sarif, outcome_as_sarif(outcome, root=_repository_root())),
    ):
        if file is not None:
            write_output(file, document, force=request.force)
    _add_to_summary(markdown)
    if outcome.failure is not None:
        raise MeasureError(
            outcome.failure.message, slug=outcome.failure.slug, hint=outcome.failure.hint
        )
    return exit_code(outcome.verdict, on_inconclusive=lenient)


def _repository_root() -> str:
    """What code scanning takes paths from; the working directory outside a repository."""
    from rlprof.gate.git import git

    try:
        found = git(Path.cwd(), "rev-parse", "--show-toplevel")
    except MeasureError:
        return str(Path.cwd())
    return found.out if found.is_good and found.out else str(Path.cwd())


def _add_to_summary(text: str) -> None:
    """To that of the job, where a service shows one."""
    path = os.environ.get(_STEP_SUMMARY)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        say(f"rlprof: no summary: cannot write {path}: {error.strerror}")


def tell(text: str) -> None:
    say(f"rlprof: {text}")


def say(text: str) -> None:
    try:
        typer.echo(text, err=True)
    except OSError:
        pass  # stderr takes no more; stdout and the exit code still speak.
