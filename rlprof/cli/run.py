"""``rlprof run``: record a training, then show its report."""

from __future__ import annotations

import re
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.command import command_of, script_name
from rlprof.cli.last_resort import not_begun, say_in_time, train_without
from rlprof.cli.loading import load_report
from rlprof.cli.output import show_in_time
from rlprof.cli.target import Interpreter, ReplaceRunFile, counted_function, pattern_of, target_of
from rlprof.errors import OutputError, RlprofError, RunFileError, UsageError
from rlprof.libraries.step_sources import COUNTED_LIBRARIES
from rlprof.recording.settings import DEFAULT_TORCH_STEPS, RecordingSettings, TorchWindowPolicy

if TYPE_CHECKING:
    from rlprof.cli.ending import Ending
    from rlprof.recording.experimenting import Experimenter
    from rlprof.recording.recorder import RunEnd

_INTERVAL = re.compile(r"^(?P<number>\d+(\.\d+)?)\s*(?P<unit>us|µs|ms|s)$")
_UNITS_US = {"us": 1, "µs": 1, "ms": 1_000, "s": 1_000_000}
MIN_INTERVAL_US = 500
MAX_INTERVAL_US = 1_000_000


def run(
    ctx: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="RUN",
            help="Run file to write. Default: .rlprof/<utc-time>-<script>.rlprof.",
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A name for this run, for example the change tried.")
    ] = None,
    python: Interpreter = None,
    interval: Annotated[
        str | None,
        typer.Option(
            help="Fixed sampling interval, such as 10ms or 2ms. Default: 10ms, finer for the first "
            "seconds of a process while cores are free."
        ),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="SECONDS", help="Stop recording then; the training goes on."),
    ] = None,
    sps_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="Find the speed in the program's output: (?P<steps>...) captures its step count so "
            "far, (?P<sps>...) or the first group its steps per second.",
        ),
    ] = None,
    steps_from: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:QUALNAME",
            help="Count calls of this function or method as steps, for example "
            "envs.maze:MazeEnv.step; num_envs steps each where its object has such a number. "
            f"Known libraries ({', '.join(COUNTED_LIBRARIES)}) are counted without it.",
        ),
    ] = None,
    torch: Annotated[
        TorchWindowPolicy,
        typer.Option(
            help="Take a few short windows of torch's profiler: after the warm-up, and not on CUDA, where they slow "
            "what follows (auto); at once, on CUDA too (always); or never, with nothing of torch touched (off)."
        ),
    ] = TorchWindowPolicy.AUTO,
    torch_steps: Annotated[
        int,
        typer.Option(min=1, max=1000, metavar="STEPS", help="Optimizer steps in each such window."),
    ] = DEFAULT_TORCH_STEPS,
    agent: Annotated[
        bool, typer.Option(help="Put rlprof's agent into the Python processes.")
    ] = True,
    probe: Annotated[
        bool, typer.Option(help="Let the agent take stacks (SIGURG, on CPU time).")
    ] = True,
    values: Annotated[
        bool,
        typer.Option(
            help="Let it look at what hot lines work on: types, lengths, shapes, never contents."
        ),
    ] = True,
    austin: Annotated[str | None, typer.Option(metavar="PATH", help="Sampler to use.")] = None,
    try_: Annotated[
        bool,
        typer.Option(
            "--try",
            help="Once the training is steady, try its findings as `rlprof try --keep-going` does, and let it train on.",
        ),
    ] = False,
    report: Annotated[bool, typer.Option(help="Show the report on stderr at the end.")] = True,
    force: ReplaceRunFile = False,
) -> None:
    """Record a training run, then show its ranked report.

    Ends with the training's own exit code. The training's output, input, signals and terminal are
    its own; the report goes to stderr.
    """
    from rlprof.recording.machine.descriptors import handed_down

    only_the_targets = handed_down()
    target = target_of(
        ctx,
        "give a script (rlprof run train.py), a module (-m package.train) "
        "or a command (-- bash train.sh)",
    )
    name = script_name(target)
    command = command_of(target, python)
    settings = partial(
        RecordingSettings,
        command=command,
        script=name,
        interval_us=None if interval is None else _interval_us(interval),
        duration_s=duration,
        agent=agent,
        probe=probe,
        values=values,
        austin=austin,
        label=label,
        sps_pattern=pattern_of(sps_pattern),
        # Windows of torch's profiler would be in the way of what is measured.
        torch=TorchWindowPolicy.OFF if try_ else torch,
        torch_steps=torch_steps,
        is_try=try_,
        steps_from=counted_function(steps_from, agent=agent),
    )
    run_file = None
    try:
        _import_recorder()
        from rlprof.cli.ending import CutShortError, Ending, die_of
        from rlprof.cli.run_files import give_back, new_run_file, other_name
        from rlprof.recording.own_words import take_out

        ending = Ending()
        run_file = new_run_file(output, name, force=force)
        if other := other_name(output, run_file):
            say_in_time(f"rlprof: {other}\n")
        if report:
            say_in_time(f"rlprof: recording into {run_file}; the report follows at the end\n")
        # With a pattern its output goes through us.
        streams = {0, 1} if sps_pattern is None else {0}
        take_out(target.words)
        outcome = _record(
            settings(run_file=run_file),
            only_the_targets | streams,
            ending,
            _experimenter(run_file) if try_ else None,
        )
    except OutputError as error:
        if run_file is not None:
            give_back(run_file)
        train_without(command, error)
    # Whatever happens from here on, the training's own exit code is what we end with.
    try:
        with ending.report():
            _after(outcome, run_file, is_default_place=output is None, show_report=report)
    except RlprofError as error:
        say_in_time(f"rlprof: no report: {error.message}\n  {error.hint}\n  {error.see}\n")
    except (CutShortError, KeyboardInterrupt, OSError):
        pass  # Nobody wants to read it, or stderr takes no more.
    except (MemoryError, SystemError):  # The second is what C code makes of the first at times.
        if report:
            say_in_time(
                "rlprof: no report: no memory is left for it, by a limit (ulimit -a) or on this host. The "
                f"recording is in {run_file}.\n"
            )
    except ImportError as error:
        say_in_time(
            f"rlprof: no report: {error}; was rlprof replaced while it recorded? The recording is in {run_file}: "
            "`rlprof report` shows it\n"
        )
    except (Exception, SystemExit):
        say_in_time(
            f"{traceback.format_exc()}\nrlprof: no report: this is a bug in rlprof, not in your "
            f"program. The recording is in {run_file}.\n"
        )
    ending.close()
    if outcome.exit_signal is not None:
        die_of(outcome.exit_signal)
    raise typer.Exit(outcome.exit_code)


def _import_recorder() -> None:
    """Raises OutputError where the caller's PYTHONPATH hides what it needs."""
    try:
        import rlprof.cli.ending
        import rlprof.cli.run_files
        import rlprof.recording.record  # noqa: F401 - later ones find both
    except (Exception, SystemExit) as error:
        raise not_begun(error) from error


def _experimenter(run_file: Path) -> Experimenter:
    from rlprof.experiments.conductor import BUDGET_S, Conductor, TryPlan

    return Conductor(
        TryPlan(run_file, BUDGET_S, keeps_going=True, makes_runs=False),
        tell=lambda line: say_in_time(f"rlprof: {line}\n"),
    )


def _record(
    settings: RecordingSettings,
    only_the_targets: frozenset[int],
    ending: Ending,
    experimenter: Experimenter | None,
) -> RunEnd:
    from rlprof.recording.machine.descriptors import let_go_of
    from rlprof.recording.record import record

    def when_started() -> None:
        ending.begin()
        # Of what the target was given we hold stderr alone once it runs, for the report.
        let_go_of(only_the_targets)

    return record(settings, when_started, experimenter)


def _after(outcome: RunEnd, run_file: Path, *, is_default_place: bool, show_report: bool) -> None:
    with suppress(PermissionError):
        if not run_file.exists():
            raise _removed(run_file, outcome)
    if outcome.failure is not None:
        error = outcome.failure
        say_in_time(
            f"rlprof: {error.message}\n  The training was not touched. {run_file} holds what was "
            f"recorded before.\n  {error.hint}\n  {error.see}\n"
        )
    from rlprof.cli.run_files import point_latest_at
    from rlprof.model.crash import is_bad_end

    # A crash at the start is nothing to go on from; `latest` stays what it was.
    report, is_kept = None, True
    if show_report or (is_default_place and is_bad_end(outcome.exit_code)):
        # Here, as it takes half a second to import: a run that was told to end is to end.
        from rlprof.report.build import is_worth_keeping

        report = load_report(run_file)
        is_kept = is_worth_keeping(report)
    if is_default_place and is_kept:
        point_latest_at(run_file)
    if report is not None and show_report and sys.stderr is not None:
        show_in_time(report)


def _removed(run_file: Path, outcome: RunEnd) -> RunFileError:
    end = (
        f"with exit code {outcome.exit_code}"
        if outcome.exit_signal is None
        else f"by signal {outcome.exit_signal}"
    )
    return RunFileError(
        f"the run file {run_file} was removed or moved while it was being recorded, by whom is not known; the training itself ended {end}",
        slug="run-file-removed",
        hint="where the training clears the folder that it writes to, record elsewhere: -o FILE",
    )


def _interval_us(text: str) -> int:
    match = _INTERVAL.match(text.strip())
    if match is not None:
        us = round(float(match["number"]) * _UNITS_US[match["unit"]])
        if MIN_INTERVAL_US <= us <= MAX_INTERVAL_US:
            return us
    raise UsageError(
        f"--interval {text} is not an interval between 0.5ms and 1s",
        slug="bad-interval",
        hint="for example --interval 10ms",
    )
