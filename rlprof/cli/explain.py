"""``rlprof explain``: the page of a finding, and what a message means."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rlprof.errors import UsageError

PAGE_WIDTH = 100
"""Columns at most: longer lines are hard to read."""


def _complete(incomplete: str) -> list[str]:
    from rlprof.resources import detector_ids_with_page, messages

    return [
        page for page in (*detector_ids_with_page(), *messages()) if page.startswith(incomplete)
    ]


def explain(
    id: Annotated[  # noqa: A002 - the word the help shows
        str | None,
        typer.Argument(
            metavar="ID",
            help="Id of a finding, as the report names it, or the name behind an error or a remark. "
            "Without one, all findings are listed.",
            autocompletion=_complete,
        ),
    ] = None,
) -> None:
    """Explain a finding and its fix, or a message.

    Of a finding: why it costs time, what to change, and when it is not reported. Of an error or a
    remark: what it means, and what to do.
    """
    if id is None:
        _list()
    else:
        _show(_page(id))


def _list() -> None:
    from rlprof.device_pricing import discover_device_detectors
    from rlprof.discovery import discover_detectors

    names = {it.id: it.name for it in discover_detectors()}
    names |= {it.id: it.name for it in discover_device_detectors()}
    width = max(map(len, names), default=0)
    for id_, name in sorted(names.items()):
        typer.echo(f"{id_:{width}}  {name}")


def _page(name: str) -> str:
    from difflib import get_close_matches

    from rlprof.resources import detector_ids_with_page, detector_page, messages

    findings, told = detector_ids_with_page(), messages()
    if name in findings:
        return detector_page(name)
    if name in told:
        return f"# {name}\n\n{told[name]}"
    close = get_close_matches(name, (*findings, *told), n=3, cutoff=0.5)
    raise UsageError(
        f"there is no page about {name!r}",
        slug="no-such-page",
        hint=f"did you mean {' or '.join(close)}?"
        if close
        else "`rlprof explain` lists all findings",
    )


def _show(page: str) -> None:
    if not sys.stdout.isatty():
        typer.echo(page, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(page), width=min(console.width, PAGE_WIDTH))
