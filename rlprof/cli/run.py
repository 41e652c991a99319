"""``rlprof run``: record a training, then show its report."""

from __future__ import annotations

import re
import sys
import traceback
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.command import command_of, script_name
from rlprof.cli.loading import load_report
from rlprof.cli.output import LATEST, say, show, terminal_options
from rlprof.cli.step_sources import counted_function, pattern_of
from rlprof.cli.target import Interpreter, target_of
from rlprof.errors import LaunchError, OutputError, RlprofError, UsageError
from rlprof.settings import DEFAULT_TORCH_STEPS, RecordingSettings, TorchWindows

if TYPE_CHECKING:
    from rlprof.recording.recorder import Outcome

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
            "Known libraries (gymnasium, Stable-Baselines3, TorchRL, PufferLib) are counted "
            "without it.",
        ),
    ] = None,
    torch: Annotated[
        TorchWindows,
        typer.Option(
            help="Take a few short windows of torch's profiler: after the warm-up (auto), at once, for "
            "programs that end after seconds (always), or never, with nothing of torch touched (off)."
        ),
    ] = TorchWindows.AUTO,
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
    austin: Annotated[str | None, typer.Option(metavar="PATH", help="Sampler to use.")] = None,
    report: Annotated[bool, typer.Option(help="Show the report on stderr at the end.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing run file.")] = False,
) -> None:
    """Record a training run, then show its ranked report.

    Ends with the training's own exit code. The training's output, input, signals and terminal are
    its own; the report goes to stderr.
    """
    target = target_of(ctx)
    if not target.words:
        raise UsageError(
            "nothing to run was given",
            slug="no-target",
            hint="give a script (rlprof run train.py), a module (-m package.train) "
            "or a command (-- bash train.sh)",
        )
    settings = RecordingSettings(
        command=command_of(target, python),
        script=script_name(target),
        run_file=new_run_file(output, script_name(target), force=force),
        interval_us=None if interval is None else _interval_us(interval),
        duration_s=duration,
        agent=agent,
        probe=probe,
        austin=austin,
        label=label,
        sps_pattern=None if sps_pattern is None else pattern_of(sps_pattern),
        torch=torch,
        torch_steps=torch_steps,
        steps_from=None if steps_from is None else counted_function(steps_from, agent=agent),
    )
    raise typer.Exit(_record(settings, is_default_place=output is None, show_report=report))


def _record(settings: RecordingSettings, *, is_default_place: bool, show_report: bool) -> int:
    from rlprof.recording.recorder import record

    try:
        outcome = record(settings)
    except OutputError as error:
        # Nothing has run yet: say so with the code for that.
        raise LaunchError(error.message, slug=error.slug, hint=error.hint) from error
    # Whatever happens from here on, the training's own exit code is what we end with.
    try:
        _after(outcome, settings.run_file, is_default_place, show_report=show_report)
    except RlprofError as error:
        say(f"rlprof: no report: {error.message}\n  {error.hint}\n  {error.see}")
    except (KeyboardInterrupt, OSError):
        pass  # Nobody wants to read it, or stderr takes no more.
    except Exception:
        say(
            f"{traceback.format_exc()}\nrlprof: no report: this is a bug in rlprof, not in your "
            f"program. The recording is in {settings.run_file}."
        )
    return outcome.exit_code


def _after(outcome: Outcome, run_file: Path, is_default_place: bool, *, show_report: bool) -> None:
    if outcome.failure is not None:
        error = outcome.failure
        say(
            f"rlprof: {error.message}\n  The training was not touched. {run_file} holds what was "
            f"recorded before.\n  {error.hint}\n  {error.see}"
        )
    if is_default_place:
        point_latest_at(run_file)
    if show_report and sys.stderr is not None:
        from rlprof.renderers.terminal import RENDERER

        document = RENDERER.render(load_report(run_file), terminal_options(sys.stderr))
        show(document, sys.stderr)


def new_run_file(output: Path | None, script: str, *, force: bool) -> Path:
    """Where to record: ``output``, else a free name for ``script``; its folder is made.

    Raises ``UsageError`` when ``output`` exists and ``force`` is not set, ``LaunchError`` when
    nothing can be written there.
    """
    from rlprof.runfile.schema import journals

    if output is None:
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
        stem = re.sub(r"[^\w.-]+", "_", script.removesuffix(".py"))[:60] or "run"
        path = LATEST.with_name(f"{now}-{stem}.rlprof")
        number = 2
        while path.exists():
            path = path.with_name(f"{now}-{stem}-{number}.rlprof")
            number += 1
    else:
        path = output
        if path.exists() and not force:
            raise UsageError(
                f"{path} exists already",
                slug="output-exists",
                hint="choose another name, or overwrite it with --force",
            )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if output is None:
            _keep_out_of_git(path.parent)
        for old in (path, *journals(path)):
            old.unlink(missing_ok=True)
    except OSError as error:
        raise LaunchError(
            f"cannot write the run file {path}: {error.strerror}: {error.filename}",
            slug="run-file-not-written",
            hint="choose another place with -o RUN",
        ) from error
    return path


def _keep_out_of_git(folder: Path) -> None:
    """The folder is ours, and recordings are large: nobody means to commit them."""
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


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


def point_latest_at(run_file: Path) -> None:
    """Make ``run_file`` the one that commands take when none is named."""
    latest = run_file.with_name("latest")
    try:
        latest.unlink(missing_ok=True)
        latest.symlink_to(run_file.name)
    except OSError:
        pass  # Only a convenience: every command also takes the file's name.
