"""``rlprof report``: show a recorded run again, or write it in another format."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.formats import by_name, by_suffix, parse_options
from rlprof.cli.loading import FileKind, kind_of, load_report, show_trace
from rlprof.cli.output import (
    Force,
    NotTheTerminal,
    RunFile,
    check_output,
    hand_out,
    run_path,
    tell_written,
    terminal_options,
    write_output,
)
from rlprof.errors import UsageError

if TYPE_CHECKING:
    from rlprof.renderers.base import Renderer

DEFAULT_FORMAT = "terminal"
PAGE_FORMAT = "html"


def report(
    run: RunFile = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="terminal, html, json, markdown, sarif or svg. Without it, the ending of -o decides; else "
            "terminal.",
        ),
    ] = None,
    html: Annotated[
        bool,
        typer.Option(
            "--html",
            help="Write one HTML page, by itself; without -o into this folder, as RUN.html.",
        ),
    ] = False,
    open_page: Annotated[
        bool, typer.Option("--open", help="As --html, and open the page in the browser.")
    ] = False,
    output: NotTheTerminal = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            metavar="KEY=VALUE",
            help="Option of the format, such as -p width=120; repeatable.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Show the ranked report of a recorded run.

    Needs the run file alone: not the machine, the GPU or the source tree of the training.
    """
    is_page = html or open_page
    renderer = choose_renderer(_format_of(format_name, is_page=is_page), output)
    options = parse_options(option or (), renderer)
    path = run_path(run)
    is_private = is_page and output is None
    if is_private:
        output = page_beside(path)
    if output is not None:
        check_output(output, force=force, reads=[path])
    if kind_of(path) is FileKind.TRACE:
        show_trace(path, renderer.name, output, force=force)
        return
    priced = load_report(path, detailed=renderer.needs_detail)
    if output is None and renderer.name == DEFAULT_FORMAT:
        options = {**terminal_options(sys.stdout), **options}
    document = renderer.render(priced, options)
    if is_page and output is not None:
        write_output(output, document, force=force, is_private=is_private)
        _hand_over(output, is_opened=open_page)
    else:
        hand_out(document, output, force=force)


def page_beside(run: Path) -> Path:
    """Return where the page of a run goes by itself: the working directory, under the run's own name."""
    # .rlprof/latest is a link to the run.
    # One that leads in a circle is told of where it is read.
    return Path(f"{Path(os.path.realpath(run)).stem}.html")


def _format_of(format_name: str | None, *, is_page: bool) -> str | None:
    if is_page and format_name not in (None, PAGE_FORMAT):
        raise UsageError(
            f"--html and --open make a page, and --format asks for {format_name}",
            slug="two-formats",
            hint="give one of them",
        )
    return PAGE_FORMAT if is_page else format_name


def _hand_over(page: Path, *, is_opened: bool) -> None:
    """Say where the page is, and open it if asked to; a machine without a browser is no error."""
    address = page.resolve().as_uri()
    tell_written(page, f" (open it: {address})")
    if is_opened:
        import webbrowser

        if not webbrowser.open(address):
            typer.echo("no browser was found here: copy the file to where there is one", err=True)


def choose_renderer(format_name: str | None, output: Path | None) -> Renderer:
    """The renderer by name, else by the ending of the output, else the terminal's.

    Raises ``UsageError``, listing the formats, when there is none.
    """
    from rlprof.discovery import discover_renderers

    if format_name is None and output is not None:
        return by_suffix(discover_renderers(), output)
    return by_name(discover_renderers(), format_name or DEFAULT_FORMAT)
