"""``rlprof doctor``: whether recording will work here, and what to do where it will not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.errors import EXIT_ERROR

if TYPE_CHECKING:
    from rlprof.cli.doctor_checks import Check


def doctor(
    python: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The interpreter that runs the training."),
    ] = None,
    austin: Annotated[str | None, typer.Option(metavar="PATH", help="The sampler to use.")] = None,
) -> None:
    """Check that recording works here.

    Says what to do about whatever stands in the way. Ends with 1 when something must be fixed first.
    """
    from rlprof.cli.doctor_checks import CheckLevel, all_checks

    checks = all_checks(python or sys.executable, austin=austin, folder=Path.cwd())
    for check in checks:
        _print(check)
    if any(check.level is CheckLevel.FAIL for check in checks):
        raise typer.Exit(EXIT_ERROR)


def _print(check: Check) -> None:
    colour = {"ok": "green", "warn": "yellow", "fail": "red"}[check.level.value]
    level = typer.style(f"{check.level.value:4}", fg=colour, bold=True)
    typer.echo(f"{level}  {check.name:11}  {check.found}")
    if check.advice:
        typer.echo(f"{'':19}{check.advice}")
