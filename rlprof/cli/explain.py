"""``rlprof explain``: the page of a finding."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rlprof.errors import UsageError

PAGE_WIDTH = 100
"""Columns at most: longer lines are hard to read."""


def _complete(incomplete: str) -> list[str]:
    from rlprof.resources import detector_ids_with_page

    return [page for page in detector_ids_with_page() if page.startswith(incomplete)]


def explain(
    id: Annotated[  # noqa: A002 - the word the help shows
        str | None,
        typer.Argument(
            metavar="ID",
            help="Id of a finding, as the report names it. Without one, all are listed.",
            autocompletion=_complete,
        ),
    ] = None,
) -> None:
    """Explain a finding and its fix.

    Why it costs time, what to change, and when it is not reported.
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


def _page(detector_id: str) -> str:
    from difflib import get_close_matches

    from rlprof.resources import detector_ids_with_page, detector_page

    known = detector_ids_with_page()
    if detector_id not in known:
        close = get_close_matches(detector_id, known, n=3, cutoff=0.5)
        raise UsageError(
            f"there is no page about {detector_id!r}",
            slug="no-such-page",
            hint=f"did you mean {' or '.join(close)}?"
            if close
            else "`rlprof explain` lists all pages",
        )
    return detector_page(detector_id)


def _show(page: str) -> None:
    if not sys.stdout.isatty():
        typer.echo(page, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(page), width=min(console.width, PAGE_WIDTH))
