"""``rlprof scale``: record a training with more and more workers, and say how many are best."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlprof.cli.command import Target, command_of, script_name
from rlprof.cli.output import Force, check_output, in_words, say, show, write_output
from rlprof.cli.run_files import new_run_file, point_latest_at
from rlprof.cli.target import (
    Interpreter,
    SpsPattern,
    StepsFrom,
    counted_function,
    pattern_of,
    target_of,
)
from rlprof.errors import RlprofError, UsageError

if TYPE_CHECKING:
    from rlprof.recording.settings import RecordingSettings
    from rlprof.scaling.study import Study

PLACE: Final = "{}"
"""Where the number of workers goes."""

MAX_WORKERS: Final = 4096
"""More is a slip of the finger: no machine here starts as many processes."""

SUFFIXES: Final = (".json", ".svg")

_NAME_LENGTH: Final = 40
"""Of the script in the names of run files, so that the number of workers is not cut off."""


def scale(
    ctx: typer.Context,
    workers: Annotated[
        str, typer.Option(metavar="N,N,...", help="Numbers of workers to run, such as 1,2,4,8.")
    ],
    arg: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Argument that sets the number, with {} in its place, such as 'run.n_jobs={}' or "
            "'--envs {}'; goes behind the target's own. Repeatable. Without it: each {} in the "
            "target's arguments.",
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=100, help="Rounds; each runs every number once.")
    ] = 1,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write to FILE.json or FILE.svg; repeatable."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="A name for these runs.")] = None,
    python: Interpreter = None,
    sps_pattern: SpsPattern = None,
    steps_from: StepsFrom = None,
    force: Force = False,
) -> None:
    """Find the best number of workers for a training.

    Records it with each number and fits a law to the rates. Give the training arguments that end it
    after half a minute or so. Its output stays its own; the result goes to stderr, each recording to
    .rlprof/.
    """
    target = target_of(
        ctx,
        "end the line with what to run, for example "
        "rlprof scale --workers 1,2,4 train.py --envs {}",
    )
    counts = worker_counts(workers)
    template = with_argument(target, arg or ())
    command_of(template, python)  # A script that is not there must not cost a ladder.
    pattern, function = pattern_of(sps_pattern), counted_function(steps_from)
    _check_outputs(output or (), target, force=force)

    from rlprof.recording.redaction.arguments import redact_arguments
    from rlprof.scaling.ladder import Ladder
    from rlprof.scaling.study import study_of

    def settings(workers: int) -> RecordingSettings:
        return _settings(template, workers, python, label, pattern, function)

    ladder = Ladder(settings, recorded=point_latest_at, tell=lambda line: say(f"rlprof: {line}"))
    climb = ladder.climb(counts, rounds=repeat)
    words = (word.replace(_KEPT, PLACE) for word in template.words)
    study = study_of(
        redact_arguments(words), climb.runs, interrupted=climb.stopped_with is not None
    )

    _hand_out(study, output or (), force=force)
    if climb.stopped_with is not None:
        raise typer.Exit(climb.stopped_with)
    if study.best is None:
        raise RlprofError(
            "no number of workers gave a rate",
            slug="no-rates",
            hint="the remarks above say why, for each run",
        )


def worker_counts(text: str) -> tuple[int, ...]:
    """``1,2,4,8`` as numbers, in order; raises ``UsageError`` for anything but two or more."""
    words = [word.strip() for word in text.split(",")]
    counts = sorted({int(word) for word in words if word.isascii() and word.isdecimal()})
    are_numbers = all(word.isascii() and word.isdecimal() for word in words)
    if not are_numbers or len(counts) < 2 or counts[0] < 1 or counts[-1] > MAX_WORKERS:
        raise UsageError(
            f"--workers {text} is not a ladder: it takes two or more different whole numbers from "
            f"1 to {MAX_WORKERS}",
            slug="bad-workers",
            hint="for example --workers 1,2,4,8",
        )
    return tuple(counts)


def with_argument(target: Target, arguments: Sequence[str]) -> Target:
    """``target`` with the arguments of ``--arg`` behind its own.

    Raises ``UsageError`` when nothing says where the number of workers goes.
    """
    if not arguments:
        if not any(PLACE in word for word in target.words[1:]):
            raise UsageError(
                "nothing says how the training is told its number of workers",
                slug="no-worker-argument",
                hint="write {} in its place: rlprof scale --workers 1,2,4 train.py --envs {}, or "
                "--arg 'run.n_jobs={}' before the script",
            )
        return target
    words = [word for text in arguments for word in _words(text)]
    # What the user's own arguments hold in braces is then no place for the number.
    own = tuple(word.replace(PLACE, _KEPT) for word in target.words)
    return Target(target.kind, (*own, *words))


_KEPT: Final = "\0"
"""Stands for a ``{}`` that stays one; no word of a command line can hold it."""


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        words = []
        reason = str(error).lower()
    else:
        reason = "it has no {}"
    if not any(PLACE in word for word in words):
        raise UsageError(
            f"--arg {text!r} cannot set the number of workers: {reason}",
            slug="no-worker-argument",
            hint="put {} where the number goes, for example --arg 'run.n_jobs={}'",
        )
    return words


def with_count(target: Target, count: int) -> Target:
    """``target`` as it is run with ``count`` workers."""
    first, *rest = target.words
    return Target(
        target.kind,
        (
            first.replace(_KEPT, PLACE),
            *(word.replace(PLACE, str(count)).replace(_KEPT, PLACE) for word in rest),
        ),
    )


def _settings(
    template: Target,
    workers: int,
    python: Path | None,
    label: str | None,
    pattern: re.Pattern[str] | None,
    function: str | None,
) -> RecordingSettings:
    """Settings of one run, whose file is made here."""
    from rlprof.recording.settings import RecordingSettings

    target = with_count(template, workers)
    script = script_name(target)
    stem = script.removesuffix(".py")[:_NAME_LENGTH]
    return RecordingSettings(
        run_file=new_run_file(None, f"{stem}-{workers}-workers", force=False),
        command=command_of(target, python),
        script=script,
        label=f"{label or ''} workers={workers}".lstrip(),
        sps_pattern=pattern,
        steps_from=function,
    )


# --- the result -----------------------------------------------------------------------------


def _check_outputs(outputs: Sequence[Path], target: Target, *, force: bool) -> None:
    for path in outputs:
        if path.suffix not in SUFFIXES:
            raise UsageError(
                f"the ending of {path} names no format of a ladder",
                slug="no-such-format",
                hint=f"use one of: {', '.join(SUFFIXES)}",
            )
        check_output(path, force=force, reads=target.words)


def _hand_out(study: Study, outputs: Sequence[Path], *, force: bool) -> None:
    from rlprof.scaling.document import study_document
    from rlprof.scaling.json_document import study_as_json
    from rlprof.scaling.svg import study_as_svg

    if sys.stderr is not None:
        show(f"\n{in_words(study_document(study), sys.stderr)}", sys.stderr)
    for path in outputs:
        if path.suffix == ".json":
            write_output(path, study_as_json(study), force=force)
        elif study.best is not None:
            write_output(path, study_as_svg(study), force=force)
