"""``rlprof scale``: record a training with more and more workers, and say how many are best."""

from __future__ import annotations

import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from rlprof.cli.command import command_of, script_name
from rlprof.cli.output import Force, check_output, in_words, say, show, write_output
from rlprof.cli.run_files import new_run_file, point_latest_at
from rlprof.cli.step_sources import counted_function, pattern_of
from rlprof.cli.target import Interpreter, SpsPattern, StepsFrom, nothing_to_run, target_of
from rlprof.cli.target_words import Target
from rlprof.errors import RlprofError, RunFileError, UsageError

if TYPE_CHECKING:
    from rlprof.scaling.ladder import LadderRun
    from rlprof.scaling.study import Study

PLACE: Final = "{}"
"""Where the number of workers goes."""

MAX_WORKERS: Final = 4096
"""More is a slip of the finger: no machine here starts as many processes."""

SUFFIXES: Final = (".json", ".svg")

_STOPPED: Final = frozenset(128 + end for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
"""Exit codes of a run that somebody stopped: then the rest of the ladder is not wanted either."""

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
    target = _target(ctx)
    counts = worker_counts(workers)
    template = with_argument(target, arg or ())
    command_of(template, python)  # A script that is not there must not cost a ladder.
    counting = Counting(
        pattern=None if sps_pattern is None else pattern_of(sps_pattern),
        function=None if steps_from is None else counted_function(steps_from, agent=True),
    )
    _check_outputs(output or (), target, force=force)

    ladder = _Ladder(template, python=python, label=label, counting=counting)
    study = ladder.climb(counts, rounds=repeat)

    _hand_out(study, output or (), force=force)
    if ladder.stopped_with is not None:
        raise typer.Exit(ladder.stopped_with)
    if study.best is None:
        raise RlprofError(
            "no number of workers gave a rate",
            slug="no-rates",
            hint="the remarks above say why, for each run",
        )


def _target(ctx: typer.Context) -> Target:
    target = target_of(ctx)
    if not target.words:
        raise nothing_to_run(
            "end the line with what to run, for example "
            "rlprof scale --workers 1,2,4 train.py --envs {}"
        )
    return target


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


def climbing_order(counts: Sequence[int], rounds: int) -> Iterator[tuple[int, int]]:
    """Yield (round, workers). Every other round goes back down, so that a drift of the machine's
    speed falls on few and on many workers alike.
    """
    for number in range(1, rounds + 1):
        for count in counts if number % 2 else reversed(counts):
            yield number, count


class Counting(NamedTuple):
    """Where the steps come from, if the program is not to be asked."""

    pattern: re.Pattern[bytes] | None
    """Finds steps or sps in its output."""
    function: str | None
    """``module:function`` whose calls are steps."""


class _Ladder:
    """Runs the target with one number of workers after the other, each into its own run file."""

    def __init__(
        self,
        template: Target,
        *,
        python: Path | None,
        label: str | None,
        counting: Counting,
    ) -> None:
        self._template = template
        self._python = python
        self._label = label
        self._counting = counting
        self.stopped_with: int | None = None
        """The exit code that goes with the signal that ended the ladder before its time."""

    def climb(self, counts: Sequence[int], *, rounds: int) -> Study:
        from rlprof.recording.redaction.arguments import redact_arguments
        from rlprof.scaling.study import study_of

        runs: list[LadderRun] = []
        failed: set[int] = set()
        total = len(counts) * rounds
        for number, (round_number, workers) in enumerate(climbing_order(counts, rounds), start=1):
            if workers in failed:
                continue
            say(f"rlprof: {_counted(workers)} (run {number} of {total})")
            try:
                run, was_told_to_end = self._run(workers, round_number)
            except KeyboardInterrupt:  # Between the runs: while one runs, it gets the signal.
                self.stopped_with = 128 + signal.SIGINT
                break
            runs.append(run)
            if was_told_to_end or run.exit_code in _STOPPED:
                # One that meets it in its interpreter's start ends with another code.
                is_told = run.exit_code in _STOPPED
                self.stopped_with = run.exit_code if is_told else 128 + signal.SIGINT
                break
            if run.failed:
                failed.add(workers)
        words = (word.replace(_KEPT, PLACE) for word in self._template.words)
        was_stopped = self.stopped_with is not None
        return study_of(redact_arguments(words), runs, interrupted=was_stopped)

    def _run(self, workers: int, round_number: int) -> tuple[LadderRun, bool]:
        """The run, and whether it was told to end before its time."""
        from rlprof.recording.recorder import record
        from rlprof.recording.settings import RecordingSettings
        from rlprof.scaling.ladder import LadderRun, read_ladder_run

        target = with_count(self._template, workers)
        script = script_name(target)
        stem = script.removesuffix(".py")[:_NAME_LENGTH]
        run_file = new_run_file(None, f"{stem}-{workers}-workers", force=False)
        started = time.monotonic()
        outcome = record(
            RecordingSettings(
                command=command_of(target, self._python),
                script=script,
                run_file=run_file,
                label=f"{self._label or ''} workers={workers}".lstrip(),
                sps_pattern=self._counting.pattern,
                steps_from=self._counting.function,
            )
        )
        point_latest_at(run_file)
        try:
            run = read_ladder_run(
                run_file,
                workers=workers,
                round_number=round_number,
                exit_code=outcome.exit_code,
            )
        except RunFileError as error:
            run = LadderRun(
                workers=workers,
                round=round_number,
                run_file=str(run_file),
                exit_code=outcome.exit_code,
                why_no_sps=error.message,
            )
        say(f"rlprof: {_outcome(run)}, {time.monotonic() - started:.1f} s")
        return run, outcome.was_told_to_end


def _outcome(run: LadderRun) -> str:
    from rlprof.report import wording

    if run.failed:
        return f"failed with exit code {run.exit_code}"
    if run.sps is None:
        return f"no rate: {run.why_no_sps}"
    return wording.unglued(f"{wording.rate(run.sps.median)} sps ({wording.rate_range(run.sps)})")


def _counted(workers: int) -> str:
    return f"{workers} worker{'' if workers == 1 else 's'}"


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
