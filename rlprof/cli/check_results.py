"""Results of ``rlprof check`` as its user gets them: one in each format, and artefacts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from rlprof.cli.check_request import ARTIFACTS, CheckRequest
from rlprof.cli.output import in_words, is_stdout, say, show, tell_written, write_output
from rlprof.comparison.svg import comparison_as_svg
from rlprof.errors import Failure, MeasureError, OutputError, RlprofError, UsageError
from rlprof.gate import words
from rlprof.gate.baseline import Baseline, baseline_as_json
from rlprof.gate.document import check_document, outcome_as_markdown, outcome_as_page
from rlprof.gate.interruption import Interrupted
from rlprof.gate.json_document import outcome_as_json
from rlprof.gate.junit import outcome_as_junit
from rlprof.gate.outcome import Outcome, exit_code
from rlprof.gate.sarif import outcome_as_sarif
from rlprof.gate.worktrees.git import git
from rlprof.model.finding import Range
from rlprof.report import wording

_TOLD_ABOVE: Final = "it could not be measured, for what is told above"
_STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


def hand_out(outcome: Outcome, request: CheckRequest) -> int:
    """Write what was asked for, then print; the exit code.

    Raises ``OutputError`` where a file cannot be written, after all that can be; :class:`Interrupted` for an
    outcome of a check that was told to stop, and :class:`MeasureError` for one without a measurement.
    """
    code = request.inconclusive_code
    lost = _written(
        request.outputs,
        {
            "--markdown": partial(outcome_as_markdown, outcome),
            "--json": partial(outcome_as_json, outcome, inconclusive=code),
            "--junit": partial(outcome_as_junit, outcome, inconclusive=code),
            "--sarif": lambda: outcome_as_sarif(outcome, root=_repository_root()),
        },
        force=request.force,
    )
    _add_to_summary(outcome)
    is_taken = any(path is not None and is_stdout(path) for path in request.outputs.values())
    stream = sys.stderr if is_taken else sys.stdout
    show(in_words(check_document(outcome), stream, breaks_log=False), stream)
    if lost is not None:
        raise lost
    if outcome.stopped_by is not None:
        raise Interrupted(outcome.stopped_by)
    if outcome.failure is not None:
        raise _what_is_not_told(outcome.failure, words.verdict(outcome)).error()
    return exit_code(outcome, inconclusive=code)


def _what_is_not_told(failure: Failure, told: str) -> Failure:
    """``failure`` without its first line where that has just been ``told`` to whoever reads the error."""
    first, *rest = failure.message.split("\n")
    with suppress(OSError, ValueError, AttributeError):
        if first in told and os.path.samestat(
            os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
        ):
            return failure._replace(message="\n".join([_TOLD_ABOVE, *rest]))
    return failure


def write_baseline(baseline: Baseline, request: CheckRequest) -> None:
    """Raises ``OutputError`` when the file cannot be written."""
    assert request.save_baseline is not None, "a baseline is saved where it was asked for"
    write_output(request.save_baseline, baseline_as_json(baseline), force=request.force)
    runs = f"{len(baseline.steps)} runs{_spread(baseline)}"
    tell_written(request.save_baseline, f": {runs}")


def _spread(baseline: Baseline) -> str:
    """``, 2 590 to 5 860 sps``: what varies so much finds little; empty without rates."""
    if not baseline.sps:
        return ""
    low, high = min(baseline.sps), max(baseline.sps)
    return f", {wording.unglued(wording.between(Range(low, high), wording.rate_unit(baseline)))}"


def write_artifacts(outcome: Outcome, request: CheckRequest) -> None:
    """While the run files are there. The verdict stands without them: a full disk, or a bug of ours, is only told."""
    if request.artifacts is None or outcome.comparison is None:
        return
    page, drawing, *files = (request.artifacts / name for name in ARTIFACTS)
    try:
        write_output(page, outcome_as_page(outcome), force=request.force)
        write_output(drawing, comparison_as_svg(outcome.comparison), force=request.force)
        for file, run_file in zip(files, outcome.recorded, strict=True):
            write_output(file, run_file.read_bytes(), force=request.force)
    except Exception as error:
        why = error.message if isinstance(error, RlprofError) else repr(error)
        say(f"rlprof: not all of {', '.join(ARTIFACTS)}: {why}")
    else:
        say(f"rlprof: wrote {', '.join(ARTIFACTS)} to {request.artifacts}")


def _written(
    files: Mapping[str, Path | None], documents: Mapping[str, Callable[[], str]], *, force: bool
) -> OutputError | None:
    """The first error: one file that cannot be written keeps none of the others from being."""
    first = None
    for option, document in documents.items():
        file = files.get(option)
        if file is None:
            continue
        try:
            write_output(file, document(), force=force)
        except OutputError as error:
            first = first or error
        except UsageError as error:
            # It was not there when the check began: the command line was fine.
            first = first or error.converted_to(OutputError)
    return first


def _repository_root() -> str:
    """Return the folder that code scanning takes paths from; the working directory outside a repository."""
    try:
        found = git(Path.cwd(), "rev-parse", "--show-toplevel")
    except MeasureError:
        return str(Path.cwd())
    return found.out if found.is_good and found.out else str(Path.cwd())


def _add_to_summary(outcome: Outcome) -> None:
    """To that of the job, where a service shows one."""
    path = os.environ.get(_STEP_SUMMARY)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(outcome_as_markdown(outcome))
    except OSError as error:
        say(f"rlprof: no summary: cannot write {path}: {error.strerror}")
