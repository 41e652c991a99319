"""``rlprof export``: a recorded run for other tools to open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.formats import by_name, by_suffix, parse_options
from rlprof.cli.loading import load_report
from rlprof.cli.output import Force, OutputFile, RunFile, check_output, hand_out, run_path
from rlprof.errors import UsageError

if TYPE_CHECKING:
    from rlprof.renderers.base import Renderer


def _exports() -> list[Renderer]:
    from rlprof.discovery import discover_renderers

    return [renderer for renderer in discover_renderers() if renderer.is_export]


def _complete(beginning: str) -> list[str]:
    return [renderer.name for renderer in _exports() if renderer.name.startswith(beginning)]


def export(
    run: RunFile = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="One of those above. Without it, the ending of -o decides.",
            autocompletion=_complete,
        ),
    ] = None,
    output: OutputFile = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            metavar="KEY=VALUE",
            help="Option of the format, such as -p metric=cpu; repeatable.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write a recorded run in a format that other tools open.

    \b
    FORMAT      ending of FILE    what opens it
    speedscope  .speedscope.json  www.speedscope.app, or: npx speedscope FILE
    collapsed   .collapsed        flamegraph.pl FILE > out.svg; also ends in .folded
    pprof       .pb.gz            go tool pprof -http=: FILE
    chrome      .trace.json       ui.perfetto.dev or chrome://tracing: a timeline of
                                  all processes, with the events of torch's profiler

    \b
    Options of a format (-p KEY=VALUE):
    metric=wall|cpu|idle          speedscope, collapsed
    lines=no                      speedscope, collapsed: by function, not by line
    notes=no                      collapsed: stacks alone
    samples=no, torch=no          chrome: smaller files
    """  # noqa: D301 - the marks are click's, for lines that must not be joined
    renderer = _chosen(format_name, output)
    options = parse_options(option or (), renderer)
    path = run_path(run)
    if output is not None:
        check_output(output, force=force, reads=[path])
    report = load_report(path, detailed=renderer.needs_detail)
    hand_out(renderer.render(report, options), output, force=force)


def _chosen(format_name: str | None, output: Path | None) -> Renderer:
    """Raises ``UsageError``, listing the formats, when none is named or there is no such one."""
    if format_name is not None:
        return by_name(_exports(), format_name)
    if output is not None:
        return by_suffix(_exports(), output)
    raise UsageError(
        "export needs to know the format",
        slug="no-format",
        hint=f"give --format, one of: {', '.join(renderer.name for renderer in _exports())}; or -o with its ending",
    )
