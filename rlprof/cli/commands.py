"""The commands, and what becomes of their errors."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand

import rlprof
from rlprof.cli.check import check
from rlprof.cli.diff import diff
from rlprof.cli.doctor import doctor
from rlprof.cli.examples import examples
from rlprof.cli.explain import explain
from rlprof.cli.export import export
from rlprof.cli.fix import fix
from rlprof.cli.flame import flame
from rlprof.cli.history import history
from rlprof.cli.last_resort import end_without_library, is_needed, train_as_typed
from rlprof.cli.overhead import overhead
from rlprof.cli.report import report
from rlprof.cli.run import run
from rlprof.cli.scale import scale
from rlprof.cli.streams import telling, unbreakable
from rlprof.cli.target import USAGE as TARGET_USAGE
from rlprof.cli.target import TargetCommand
from rlprof.cli.trace import trace
from rlprof.cli.try_ import try_
from rlprof.cli.verify import verify
from rlprof.errors import EXIT_ERROR, MeasureError, RlprofError, RunFileError, UsageError
from rlprof.libraries.step_sources import COUNTED_LIBRARIES
from rlprof.resources import HOME

_HELP = """Why reinforcement-learning training is slow, and what each fix is worth in steps per second.

\b
  rlprof run train.py --lr 3e-4      record a training, then show its report
  rlprof report                      show the latest report again
  rlprof flame -o flame.svg          draw the flamegraph of all its processes
  rlprof explain omegaconf-in-loop   read about a finding
"""

_EPILOG = (
    f"Steps of {', '.join(COUNTED_LIBRARIES[:-1])} and {COUNTED_LIBRARIES[-1]} are counted by themselves; "
    "for others give --steps-from or call rlprof.step() where your program makes one."
)


class _Command(NamedTuple):
    function: Callable[..., Any]
    examples: tuple[str, ...]
    """Shown under ``--help``."""
    takes_target: bool = False
    """True if it ends in what to run."""
    name: str | None = None
    """Name of the command where its function cannot bear that, a word of Python's."""


COMMANDS: Final = (
    _Command(
        run,
        (
            "rlprof run train.py --lr 3e-4",
            "rlprof run --label baseline -o runs/baseline.rlprof train.py",
            "rlprof run -m my_package.train env=ant",
            "rlprof run --python ~/envs/rl/bin/python train.py",
            "rlprof run -- bash train.sh",
        ),
        takes_target=True,
    ),
    _Command(
        report,
        (
            "rlprof report",
            "rlprof report --html --open",
            "rlprof report runs/baseline.rlprof --format json -o report.json",
        ),
    ),
    _Command(
        try_,
        (
            "rlprof try train.py --lr 3e-4",
            "rlprof try --finding eager-log-format --budget 60s train.py",
            "rlprof try --skip my_pkg.learner:Learner.publish=50 train.py",
            "rlprof try --with train:compute_gae=faster.py:compute_gae train.py",
        ),
        takes_target=True,
        name="try",
    ),
    _Command(
        fix,
        (
            "rlprof fix",
            "rlprof fix eager-log-format",
            "rlprof fix runs/baseline.rlprof 2 > fix.patch",
            "rlprof fix eager-log-format --apply",
        ),
    ),
    _Command(
        flame,
        (
            "rlprof flame -o flame.svg",
            "rlprof flame runs/baseline.rlprof -o workers.svg --process worker",
        ),
    ),
    _Command(
        export,
        (
            "rlprof export --format speedscope -o run.speedscope.json",
            "rlprof export runs/baseline.rlprof -o baseline.trace.json",
            "rlprof export --format collapsed -p metric=cpu | flamegraph.pl > cpu.svg",
        ),
    ),
    _Command(
        scale,
        (
            "rlprof scale --workers 1,2,4,8 train.py --envs {}",
            "rlprof scale --workers 1,2,4 --arg 'run.n_jobs={}' --repeat 3 -o scale.svg train.py",
        ),
        takes_target=True,
    ),
    _Command(
        diff,
        (
            "rlprof diff baseline",
            "rlprof diff runs/before.rlprof runs/after.rlprof --html",
            "rlprof diff before.rlprof after.rlprof --metric cpu -o diff.svg",
        ),
    ),
    _Command(
        check,
        (
            "rlprof check --base origin/main train.py --steps 20000",
            "rlprof check --base main --counter gpu_syncs=0 --profile --artifacts out -- bash train.sh",
            "rlprof check --base-command 'python old.py' new.py",
            "rlprof check --save-baseline perf.json train.py",
            "rlprof check --baseline perf.json --junit check.xml train.py",
        ),
        takes_target=True,
    ),
    _Command(
        verify,
        (
            "rlprof verify train.py --steps 20000",
            "rlprof verify --finding eager-log-format --pairs 8 train.py",
            "rlprof verify --base HEAD~1 --run baseline -m my_package.train env=ant",
        ),
        takes_target=True,
    ),
    _Command(
        history,
        (
            "rlprof history",
            "rlprof history runs/ --format markdown -o HISTORY.md",
            "rlprof history --calibration",
        ),
    ),
    _Command(
        trace,
        ("rlprof trace trace.json.gz", "rlprof trace trace.json --format json -o trace-facts.json"),
    ),
    _Command(
        overhead,
        (
            "rlprof overhead train.py --steps 20000",
            "rlprof overhead --pairs 10 --sps-pattern 'SPS: (\\d+)' train.py",
            "rlprof overhead --wall --format json -- bash train.sh > cost.json",
        ),
        takes_target=True,
    ),
    _Command(explain, ("rlprof explain", "rlprof explain eager-log-format")),
    _Command(doctor, ("rlprof doctor", "rlprof doctor --python ~/envs/rl/bin/python")),
    _Command(examples, ("rlprof examples", "rlprof examples copy bandit my-bandit")),
)

_OF_PATHS: Final = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EROFS,
        errno.ESTALE,
        errno.EIO,
    }
)
"""Errors that a path has of itself, whatever is done with it."""


def _app() -> typer.Typer:
    # Without rich markup and rich tracebacks: rich alone takes 0.1 s to import.
    app = typer.Typer(
        name="rlprof",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP, epilog=_EPILOG)(_options)
    for command in COMMANDS:
        app.command(
            command.name,
            cls=TargetCommand if command.takes_target else TyperCommand,
            options_metavar=TARGET_USAGE if command.takes_target else "[OPTIONS]",
            epilog="\b\nExamples:\n" + "\n".join(f"  {line}" for line in command.examples),
        )(command.function)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rlprof {rlprof.__version__}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and exit: with the command's code, or with that of the error."""
    with redirect_stderr(unbreakable(sys.stderr)), redirect_stdout(telling(sys.stdout)):
        _run()


def _run() -> None:
    try:
        _app()(prog_name="rlprof")
    except RlprofError as error:
        _end_with(error)
    except Exception as error:
        if is_needed():
            train_as_typed(error)
        end_without_library(error)
        if isinstance(error, FileNotFoundError) and _is_nowhere():
            _end_with(
                UsageError(
                    "the working directory does not exist any more",
                    slug="no-working-directory",
                    hint="change to one that exists: cd ~",
                )
            )
        if isinstance(error, OSError) and error.filename and error.errno in _OF_PATHS:
            _end_with(_path_error(error))
        traceback.print_exc()
        _say(
            f"\nThis is a bug in rlprof {rlprof.__version__}, not in your program. Please report it "
            f"with the lines above:\n{HOME}/issues"
        )
        sys.exit(EXIT_ERROR)


def _path_error(error: OSError) -> RlprofError:
    """Return it in words: a path that cannot be looked at is no bug of ours."""
    kind = MeasureError if sys.argv[1:2] in (["check"], ["verify"]) else RunFileError
    return kind(
        f"cannot use {os.fsdecode(error.filename)}: {error.strerror}",
        slug="path-not-usable",
        hint="give another path, or ask its owner for access (a run of sudo or of a container leaves files of root)",
    )


def _is_nowhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _end_with(error: RlprofError) -> NoReturn:
    _say(f"{typer.style('rlprof: error:', fg='red', bold=True)} {error.message}")
    if error.hint:
        _say(f"  {error.hint}")
    _say(typer.style(f"  {error.see}", dim=True))
    sys.exit(error.exit_code)


def _say(text: str) -> None:
    # None leaves the choice to typer: colours where stderr is a terminal.
    typer.echo(text, err=True, color=False if "NO_COLOR" in os.environ else None)
