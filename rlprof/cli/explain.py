"""``rlprof explain``: the page of a finding, what a message means, and what a counter counts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rlprof.cli.output import show
from rlprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlprof.resources import CounterEntry

PAGE_WIDTH = 100
"""Columns at most: longer lines are hard to read."""

ALL_COUNTERS: Final = "counters"
"""Names the page that has all of them."""


def complete_finding(incomplete: str) -> list[str]:
    from rlprof.resources import detector_ids_with_page

    return [page for page in detector_ids_with_page() if page.startswith(incomplete)]


def _complete(incomplete: str) -> list[str]:
    from rlprof.resources import counters, detector_ids_with_page, messages

    pages = (*detector_ids_with_page(), *messages(), ALL_COUNTERS, *counters())
    return [page for page in pages if page.startswith(incomplete)]


def explain(
    id: Annotated[  # noqa: A002 - the word the help shows
        str | None,
        typer.Argument(
            metavar="ID",
            help="Id of a finding, as the report names it, the name behind an error or a remark, or a "
            "counter. Without one, all findings are listed.",
            autocompletion=_complete,
        ),
    ] = None,
) -> None:
    """Explain a finding and its fix, a message, or a counter.

    Of a finding: why it costs time, what to change, and when it is not reported. Of an error or a
    remark: what it means, and what to do. Of a counter of `rlprof check`: what it counts, and what
    it does not see; `rlprof explain counters` has all of them.
    """
    if id is None:
        _list()
    else:
        _show(_page(id))


def _list() -> None:
    from rlprof.discovery import discover_detectors

    names = {detector.id: detector.name for detector in discover_detectors()}
    width = max(map(len, names), default=0)
    for id_, name in names.items():
        typer.echo(f"{id_:{width}}  {name}")


def _page(name: str) -> str:
    from rlprof.resources import (
        counters,
        counters_page,
        detector_ids_with_page,
        detector_page,
        messages,
    )

    findings, told, counted = detector_ids_with_page(), messages(), counters()
    if name in findings:
        return detector_page(name)
    if name in told:
        return f"# {name}\n\n{told[name]}"
    if name in counted:
        return f"# {name}\n\n{_counter(counted[name])}"
    if name == ALL_COUNTERS:
        return counters_page()
    raise UsageError(
        f"there is no page about {name!r}",
        slug="no-such-page",
        hint=names_like(name, (*findings, *told, *counted)),
    )


def names_like(name: str, known: Iterable[str]) -> str:
    """Return a hint that tells which of the ``known`` names a wrong one may stand for."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else "`rlprof explain` lists all findings"


def _counter(entry: CounterEntry) -> str:
    return f"""\
A counter of `rlprof check`: {entry.counts}.

- More that is let pass where runs agree: {entry.let_pass}.
- Not seen: {entry.unseen}.

`rlprof explain {ALL_COUNTERS}` says how counters are judged.
"""


def _show(page: str) -> None:
    if sys.stdout is None or not sys.stdout.isatty():
        show(page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(page), width=min(console.width, PAGE_WIDTH))
