"""``rlprof report``: show a recorded run again, or write it in another format."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlprof.cli.output import Force, check_output, run_path, show, terminal_options, write_output
from rlprof.errors import UsageError

if TYPE_CHECKING:
    from rlprof.model.report import Report
    from rlprof.renderers.base import Renderer

DEFAULT_FORMAT = "terminal"


def report(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="Run file. Without one: .rlprof/latest."),
    ] = None,
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="terminal, json or svg. Without it, the ending of -o decides; else terminal.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to FILE instead of the terminal."
        ),
    ] = None,
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
    renderer = choose_renderer(format_name, output)
    options = parse_options(option or (), renderer)
    if output is not None:
        check_output(output, force=force)
    priced = load_report(run_path(run), detailed=renderer.needs_detail)
    if output is not None:
        write_output(output, renderer.render(priced, options), force=force)
    else:
        defaults = terminal_options(sys.stdout) if renderer.name == DEFAULT_FORMAT else {}
        show(renderer.render(priced, {**defaults, **options}))


def load_report(path: Path, *, detailed: bool = False) -> Report:
    """Read and price a run file; ``detailed`` as for ``build_report``."""
    from rlprof.report import build_report
    from rlprof.runfile.reader import read_run

    return build_report(read_run(path), run_file=str(path), detailed=detailed)


def choose_renderer(format_name: str | None, output: Path | None) -> Renderer:
    """The renderer by name, else by the ending of the output, else the terminal's.

    Raises ``UsageError``, listing the formats, when there is none.
    """
    from rlprof.discovery import discover_renderers

    renderers = {renderer.name: renderer for renderer in discover_renderers()}
    if format_name is None and output is not None:
        return _by_suffix(list(renderers.values()), output)
    name = format_name or DEFAULT_FORMAT
    if name not in renderers:
        raise UsageError(
            f"there is no format {name!r}",
            slug="no-such-format",
            hint=f"choose one of: {', '.join(sorted(renderers))}",
        )
    return renderers[name]


def _by_suffix(renderers: Sequence[Renderer], output: Path) -> Renderer:
    for renderer in renderers:
        if output.name.endswith(renderer.suffixes):
            return renderer
    endings = ", ".join(f"{suffix} ({r.name})" for r in renderers for suffix in r.suffixes)
    raise UsageError(
        f"the ending of {output} names no format",
        slug="no-such-format",
        hint=f"use one of {endings}, or give --format",
    )


def parse_options(given: Sequence[str], renderer: Renderer) -> Mapping[str, str]:
    """The ``-p`` options as a mapping; raises ``UsageError`` for one that ``renderer`` lacks."""
    options = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or key not in renderer.options:
            known = "; ".join(f"{name}: {what}" for name, what in renderer.options.items())
            raise UsageError(
                f"-p {text}: the format {renderer.name} has no such option"
                if equals
                else f"-p {text}: the form is KEY=VALUE",
                slug="bad-render-option",
                hint=f"options of {renderer.name}: {known}" if known else "it takes none",
            )
        options[key] = value
    return options
