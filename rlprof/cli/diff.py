"""``rlprof diff``: what changed from one run to another."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlprof.cli.formats import Metric, in_format
from rlprof.cli.loading import load_report
from rlprof.cli.output import (
    Force,
    NotTheTerminal,
    check_output,
    hand_out,
    run_path,
    tell_written,
    write_output,
)
from rlprof.errors import UsageError

if TYPE_CHECKING:
    from rlprof.comparison.compare import Comparison

PAGE: Final = Path("diff.html")
"""Where ``--html`` writes without ``-o``."""


class DiffFormat(str, Enum):
    TERMINAL = "terminal"
    HTML = "html"
    SVG = "svg"
    JSON = "json"
    MARKDOWN = "markdown"


_ENDINGS: Final = {
    ".txt": DiffFormat.TERMINAL,
    ".html": DiffFormat.HTML,
    ".htm": DiffFormat.HTML,
    ".svg": DiffFormat.SVG,
    ".json": DiffFormat.JSON,
    ".md": DiffFormat.MARKDOWN,
}


def diff(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="Run file, or the label of a run in .rlprof.")
    ],
    new: Annotated[
        str | None,
        typer.Argument(metavar="[NEW]", help="Likewise. Without one: .rlprof/latest."),
    ] = None,
    format_: Annotated[
        DiffFormat | None,
        typer.Option("--format", "-f", help="Without it, the ending of -o decides; else terminal."),
    ] = None,
    html: Annotated[
        bool,
        typer.Option("--html", help="Write one HTML page, by itself; without -o to diff.html."),
    ] = False,
    output: NotTheTerminal = None,
    metric: Annotated[
        Metric, typer.Option(help="What is compared by function: wall time, or time on a CPU.")
    ] = Metric.WALL,
    force: Force = False,
) -> None:
    """Show what changed from one run to another.

    It compares rates, findings, the time of each function per step, and counters. What the runs themselves vary by is not called a change. One run a side cannot tell a change of
    the program from one of the machine.
    """
    form = _format_of(format_, output, is_page=html)
    is_private = html and output is None
    if is_private:
        output = PAGE
    from rlprof.cli.run_files import run_file_named

    paths = run_file_named(base), run_path(None) if new is None else run_file_named(new)
    if output is not None:
        check_output(output, force=force, reads=paths)
    from rlprof.comparison.compare import compare

    reports = [load_report(path, detailed=True) for path in paths]
    document = _document(compare(*reports, metric=metric.value), form, to_terminal=output is None)
    if html and output is not None:
        write_output(output, document, force=force, is_private=is_private)
        tell_written(output, f" (open it: {output.resolve().as_uri()})")
    else:
        hand_out(document, output, force=force)


def _format_of(format_: DiffFormat | None, output: Path | None, *, is_page: bool) -> DiffFormat:
    if is_page:
        if format_ not in (None, DiffFormat.HTML):
            raise UsageError(
                f"--html makes a page, and --format asks for {format_.value}",
                slug="two-formats",
                hint="give one of them",
            )
        return DiffFormat.HTML
    if format_ is not None:
        return format_
    if output is None:
        return DiffFormat.TERMINAL
    if output.suffix in _ENDINGS:
        return _ENDINGS[output.suffix]
    raise UsageError(
        f"the ending of {output} names no format",
        slug="no-such-format",
        hint=f"use one of {', '.join(_ENDINGS)}, or give --format",
    )


def _document(found: Comparison, form: DiffFormat, *, to_terminal: bool) -> str:
    if form is DiffFormat.HTML:
        from rlprof.comparison.html import comparison_as_html

        return comparison_as_html(found)
    if form is DiffFormat.SVG:
        from rlprof.comparison.svg import comparison_as_svg

        return comparison_as_svg(found)
    from rlprof.comparison.document import comparison_document
    from rlprof.comparison.json_document import comparison_as_json

    return in_format(
        form,
        lambda: comparison_as_json(found),
        lambda: comparison_document(found),
        to_file=not to_terminal,
    )
